"""The built-in model catalog: config.json fields of well-known models, each with its source and date."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalog, or an alias: another repository of the same shapes, stored differently or with some fields changed."""

    name: str
    config: Mapping[str, Any]
    source: str
    date: str
    verified: bool
    """The fields were read from a stored copy of the config; otherwise they were not compared with it."""
    quantization: str | None = None
    """How the alias stores the weights, in words."""
    checkpoint_bytes: int | None = None

    @property
    def told(self) -> str:
        """Where the fields come from, for people who have to trust them."""
        return self.source if self.verified else "not verified against the model's config.json"


# Endings of repository names that say how the weights are stored.
_STORED: tuple[tuple[str, str], ...] = (
    (r"[-_.]?fp8[-_.]?dynamic$", "compressed-tensors fp8"),
    (r"[-_.]?fp8[-_.]?block$|[-_.]fp8$", "fp8 block"),
    (r"[-_.]?quantized\.w8a8$|[-_.]w8a8$", "w8a8"),
    (r"[-_.]?quantized\.w4a16$|[-_.]w4a16$", "w4a16"),
    (r"[-_.](gptq)?[-_.]?int4$|[-_.]gptq$|[-_.]gptq[-_.]4bit$", "gptq"),
    (r"[-_.]awq([-_.]int4|[-_.]4bit)?$", "awq"),
    (r"[-_.]nvfp4$", "nvfp4"),
    (r"[-_.]bnb[-_.]4bit$", "bitsandbytes"),
    (r"[-_.]gguf$", "gguf"),
)


def _tables() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    loaded = table("models.json")
    return loaded["models"], loaded["aliases"]


def _expand(value: Any) -> Any:
    """Long per-layer lists are stored as {len, counts, first}: repeated by their period."""
    if isinstance(value, Mapping):
        if set(value) == {"len", "counts", "first"}:
            return _repeat(value["first"], value["len"], value["counts"])
        return {key: _expand(inner) for key, inner in value.items()}
    return value


def _repeat(first: list[Any], length: int, counts: Mapping[str, int]) -> list[Any]:
    """The list of ``length`` whose beginning and counts are known: the shortest period that gives those counts."""

    def tally(listed: list[Any]) -> dict[str, int]:
        return {key: sum(str(item) == key for item in listed) for key in counts}

    for period in range(1, len(first) + 1):
        whole = [first[i % period] for i in range(length)]
        if whole[: len(first)] == first and tally(whole) == dict(counts):
            return whole
    rest = {key: count - sum(str(item) == key for item in first) for key, count in counts.items()}
    whole, total = list(first), max(length - len(first), 1)
    due = dict.fromkeys(rest, 0.0)
    while len(whole) < length:  # an irregular list: what is left, spread evenly
        for key, count in rest.items():
            due[key] += count / total
        chosen = max(due, key=lambda key: due[key])
        due[chosen] -= 1
        whole.append(next((item for item in first if str(item) == chosen), chosen))
    return whole


@cache
def entry(name: str) -> Entry | None:
    """The model of that id or alias, exactly as written, or None."""
    models, aliases = _tables()
    if name in models:
        row = models[name]
        return Entry(name, _expand(row["config"]), row["source"], row["date"], row["verified"], None, row.get("checkpoint_bytes"))
    if name in aliases:
        alias = aliases[name]
        base = entry(alias["model"])
        if base is None:
            return None
        changed = alias.get("config", {})
        config = {**base.config, **changed} if changed else base.config
        source, proven = alias.get("source", base.source), base.verified and not alias.get("source")
        return Entry(name, config, source, base.date, proven, alias.get("quantization"), alias.get("checkpoint_bytes"))
    return None


# Words beside a name that say how a variant is stored.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"\b(bnb|bitsandbytes)\b", "bitsandbytes"),
    (r"\bnvfp4\b", "nvfp4"),
    (r"\bfp8\b", "fp8"),
    (r"\bawq\b", "awq"),
    (r"\b(gptq|autoround|auto-round)\b", "gptq"),
    (r"\b(4-?bit|int4)\b", "w4a16"),
    (r"\bquant(ized|ization)?\b", "quantized, how is not stated"),
)


def _stored_words(name: str) -> str | None:
    """How the text beside a name says the weights are stored, or None."""
    beside = name.lower().split(" ", 1)[1] if " " in name.strip() else ""
    return next((words for pattern, words in _WORDS if re.search(pattern, beside)), None)


def _plain(name: str) -> str:
    text = re.sub(r"\(.*?\)|\+.*$", " ", name).strip().split(" ")[0]
    return text.rsplit("/", 1)[-1].lower().removeprefix("meta-")


@cache
def _by_plain_name() -> Mapping[str, str]:
    models, aliases = _tables()
    return {_plain(name): name for name in (*aliases, *models)}


@cache
def _known(plain: str) -> str | None:
    """Catalog id of a plain name, or of what it is called with or without the words of a variant."""
    variants = (
        plain,
        f"{plain}-instruct",
        plain.removesuffix("-instruct"),
        plain.removesuffix("-chat"),
        plain.removesuffix("-it"),
        f"{plain}-it",
        plain.removesuffix("-base"),
        re.sub(r"-(instruct|thinking)?-?\d{4}$", "", plain),
    )
    return next((_by_plain_name()[variant] for variant in variants if variant in _by_plain_name()), None)


def find(name: str) -> Entry | None:
    """The model a person means: exact id, id without its organisation, base model of a quantized or instruct variant; or None.

    ``RedHatAI/Qwen3-32B-FP8-dynamic`` finds Qwen3-32B with its quantization in words.
    """
    exact = entry(name)
    if exact is not None:
        return exact
    plain, stored = _plain(name), _stored_words(name)
    for _ in range(3):
        known = _known(plain)
        if known is not None:
            base = entry(known)
            assert base is not None
            own = stored or base.quantization
            return Entry(name, base.config, base.source, base.date, base.verified, own, None if stored else base.checkpoint_bytes)
        for pattern, words in _STORED:
            shorter = re.sub(pattern, "", plain)
            if shorter != plain:
                plain, stored = shorter, stored or words
                break
        else:
            return None
    return None


def names() -> tuple[str, ...]:
    """All ids of the catalog, without aliases."""
    return tuple(_tables()[0])
