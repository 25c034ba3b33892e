"""One question to the planner: an engine's command line, the model and the card become a request; nothing else builds one."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from interlock.infra.catalog.connectors import unmanaged
from interlock.infra.catalog.gpus import gpu
from interlock.infra.catalog.models import find
from interlock.infra.facts import Fact, absent, unknown
from interlock.infra.sizing.budget import size
from interlock.infra.sizing.described import changed_config
from interlock.infra.sizing.follows import DECISIVE, ENVIRONMENT, FOLLOWED, JOINED, mapping, note, switch, whole, word
from interlock.infra.sizing.request import SizingRequest, out_of_range
from interlock.infra.sizing.result import SizingResult
from interlock.infra.values import Version

Texts = Mapping[str, Fact[str]]
# The method that a draft's name implies when none is stated (vllm/config/speculative.py).
_DRAFT_NAMES = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"), ("medusa", "medusa"))
_MODALITIES = ("image", "video", "audio")
_ABSENT: Fact[str] = absent()


@dataclass(frozen=True, slots=True)
class Model:
    """The model as it is known beside the command line."""

    name: str | None = None
    config: Mapping[str, Any] | None = None
    """Its config.json, which wins over the name."""
    checkpoint_bytes: int | None = None
    quantization: str | None = None
    """How the checkpoint is stored, in words, where only that is known."""


@dataclass(frozen=True, slots=True)
class Card:
    """The GPU, or the part of one, under each rank."""

    gpu: str | None = None
    total_gib: float | None = None
    mig_profile: str | None = None
    sharers: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and what of it could not be read."""

    request: SizingRequest
    open: Mapping[str, str] = field(default_factory=dict)
    """Field of the request to why its argument cannot be read; the request holds the default in its place."""


def ask(
    flags: Texts,
    env: Texts,
    model: Model,
    card: Card,
    version: str | None = None,
    *,
    complete: bool = True,
    beside: Mapping[str, Any] | None = None,
) -> Question:
    """The question that a command line poses.

    ``flags``: arguments by vLLM's own name without dashes, as ``interlock.infra.engine`` reads them. ``complete``: the whole command line
    could be read; otherwise whatever is not given is open. ``beside``: fields of the request that no command line says (memory that is
    free at the start, the concurrency that is wanted). An argument that is not followed is named in the request's ``ignored``.
    """
    listed = gpu(card.gpu) if card.gpu else None
    reading = _Reading(flags, env, model, complete)
    reading.read(version)
    values = reading.values | {
        "model": model.name,
        "config": dict(model.config) if model.config is not None else None,
        "checkpoint_bytes": model.checkpoint_bytes,
        "vllm_version": version or None,
        "gpu": listed.name if listed else card.gpu,
        "gpu_total_gib": card.total_gib,
        "mig_profile": card.mig_profile,
        "sharers": card.sharers,
        "ignored": tuple(reading.ignored()),
        **(beside or {}),
    }
    return valid({name: value for name, value in values.items() if value is not None}, reading.open)


def valid(values: dict[str, Any], left_out: Mapping[str, str]) -> Question:
    """The question without the values that are out of range, each of which is then open."""
    wrong = {name: f"{str(values[name])[:60]!r} is out of range" for name in out_of_range(values)}
    return Question(SizingRequest(**{name: value for name, value in values.items() if name not in wrong}), {**left_out, **wrong})


class _Reading:
    """Reads the arguments one after the other."""

    def __init__(self, flags: Texts, env: Texts, model: Model, complete: bool) -> None:
        self._flags, self._env, self._model = flags, env, model
        self._missing = _ABSENT if complete else unknown(why="part of the command line cannot be read")
        self.values: dict[str, Any] = {}
        self.open: dict[str, str] = {}
        self._notes: list[str] = []

    def read(self, version: str | None) -> None:
        for name, follow in FOLLOWED.items():
            self._take(follow.field, self._flag(name), name, follow.read)
        if self._model.quantization and self._flag("quantization").absent:
            self.values["quantization"] = word(self._model.quantization)
        for name, follow in ENVIRONMENT.items():
            self._take(follow.field, self._env.get(name, _ABSENT), name, follow.read)
        for name in DECISIVE:
            if not self._flag(name).absent:
                self.open.setdefault(name, f"--{name} is not followed")
        self._rope()
        self._adapters()
        self._answers()
        self._modalities()
        self._speculation()
        self._transfer(version)

    def ignored(self) -> Iterator[str]:
        """Sentences about what is given and not followed."""
        yield from self._notes
        for name, fact in self._flags.items():
            if name not in FOLLOWED and name not in JOINED and (text := note(name, fact.value)):
                yield text

    def _flag(self, name: str) -> Fact[str]:
        return self._flags.get(name, self._missing)

    def _take(self, name: str, fact: Fact[str], told: str, read: Any) -> None:
        if fact.absent:
            return
        found = fact.map(read)
        if found.known:
            self.values[name] = found.get()
        elif found.unknown:
            self.open[name] = f"{told}: {found.why or 'cannot be read'}"

    def _joined(self, name: str, read: Any) -> Any:
        """The value of an argument of ``JOINED``; None where it is absent or cannot be read."""
        fact = self._flag(name)
        if fact.absent:
            return None
        found = fact.map(read)
        if found.unknown:
            self.open.setdefault(JOINED[name], f"{name}: {found.why or 'cannot be read'}")
        return found.value if found.known else None

    def _rope(self) -> None:
        scaling = self._joined("rope-scaling", mapping)
        if scaling:
            self.values["hf_overrides"] = {**(self.values.get("hf_overrides") or {}), "rope_scaling": scaling}

    def _adapters(self) -> None:
        if self._joined("enable-lora", switch):
            slots, rank = self._joined("max-loras", whole), self._joined("max-lora-rank", whole)
            self.values |= {"max_loras": slots or 1, "max_lora_rank": rank}

    def _answers(self) -> None:
        """``--convert``, or ``--task`` and ``--runner`` of older commands."""
        words = (self._joined("convert", word) or self._joined("task", word) or "").lower()
        if words in ("classify", "score", "reward"):
            self.values["convert"] = "classify"
        elif words in ("embed", "embedding") or (words == "" and self._joined("runner", word) == "pooling"):
            self.values["convert"] = "embed"

    def _transfer(self, version: str | None) -> None:
        """A KV connector may switch the hybrid KV cache manager off, where nothing is said of it."""
        given, stated = self._flag("kv-transfer-config"), self._flag("disable-hybrid-kv-cache-manager")
        transfer = given.map(mapping)
        names = unmanaged(transfer.get(), Version.find(version or "")) if transfer.known and stated.absent else ()
        if names:
            self.values["disable_hybrid_kv_cache_manager"] = True
            self._notes.append(f"{', '.join(names)} switches the hybrid KV cache manager off")

    def _modalities(self) -> None:
        """A tower is dropped when none of its inputs is allowed (vllm/model_executor/models/interfaces.py, _mark_tower_model)."""
        limits = self._joined("limit-mm-per-prompt", _limits)
        if limits is None or self.values.get("language_model_only"):
            return
        config = self._config()
        if config and not any("vision" in key or "audio" in key or "thinker" in key for key in config):
            self._notes.append("limit_mm_per_prompt changes nothing: the model's config describes no encoder")
            return
        needed = [name for name in _MODALITIES if name != "audio" or any("audio" in key for key in config)]
        if config and all(limits.get(name) == 0 for name in needed):
            self.values["language_model_only"] = True
        elif limits.get("video") == 0:
            self.values["no_video"] = True

    def _config(self) -> Mapping[str, Any]:
        found = find(self._model.name) if self._model.config is None and self._model.name else None
        config = self._model.config if self._model.config is not None else found.config if found else {}
        return changed_config(config, self.values.get("hf_overrides") or {})

    def _speculation(self) -> None:
        stated = dict(self._joined("speculative-config", mapping) or {})
        short = {"method": ("spec-method",), "model": ("spec-model", "speculative-model")}
        for key, names in short.items():
            stated.setdefault(key, next((text for name in names if (text := self._joined(name, word))), None))
        tokens = stated.get("num_speculative_tokens") or next(
            (count for name in ("spec-tokens", "num-speculative-tokens") if (count := self._joined(name, whole))), None
        )
        if any(value is not None for value in stated.values()):
            self.values |= _drafting(stated, tokens)
            draft = stated.get("model")
            if isinstance(draft, str) and not (self.values["draft_model"] or self.values["draft_config"]):
                self._notes.append(f"draft model {draft} is not in the catalog: its memory is a rough guess")


def _limits(text: str) -> dict[str, Any]:
    """``{"image": 0}`` or, in old versions, ``image=0,video=0``. Raises ValueError."""
    if text.lstrip().startswith("{"):
        return mapping(text)
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): whole(count) for name, _, count in pairs}


def _drafting(stated: Mapping[str, Any], tokens: Any) -> dict[str, Any]:
    """The request's fields for a speculative config."""
    model, method, inner = stated.get("model"), stated.get("method"), stated.get("config")
    name = str(model).lower() if isinstance(model, str) else ""
    implied = "ngram" if name in ("ngram", "[ngram]") else next((found for part, found in _DRAFT_NAMES if part in name), "draft_model")
    return {
        "speculative_method": method if isinstance(method, str) and method else implied,
        "speculative_tokens": tokens if isinstance(tokens, int) and tokens > 0 else 0,
        "draft_model": model if isinstance(model, str) and find(model) else None,
        "draft_config": dict(inner) if isinstance(inner, Mapping) else None,
        "draft_vocabulary_differs": stated.get("use_heterogeneous_vocab") is True,
    }


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as a key: its mappings as text, since they cannot be hashed."""

    key: tuple[Any, ...]
    request: SizingRequest = field(compare=False)


_FIELDS = tuple(each.name for each in fields(SizingRequest))


def _asked(request: SizingRequest) -> _Asked:
    values = (getattr(request, name) for name in _FIELDS)
    return _Asked(tuple(json.dumps(each, default=str) if isinstance(each, dict) else each for each in values), request)


@lru_cache(maxsize=1024)
def _answer(asked: _Asked) -> SizingResult:
    return size(asked.request)


def answer(request: SizingRequest) -> SizingResult:
    """The planner's answer, computed once for equal requests: whoever asks the same gets the same object."""
    return _answer(_asked(request))


@lru_cache(maxsize=4096)
def _quick(asked: _Asked) -> SizingResult:
    return size(asked.request, suggest=False)


def quick(request: SizingRequest) -> SizingResult:
    """The planner's answer without suggestions, for a search over many requests; computed once for equal ones."""
    return _quick(_asked(request))
