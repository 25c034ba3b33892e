"""Every argument of ``vllm serve`` by its name with underscores: its type over the versions that were read, and how it is written."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Any

from interlock.infra.catalog.vllm_flags import canonical_flag
from interlock.infra.catalog.vllm_tables import Span, vllm_names

MANAGED: Mapping[str, str] = {
    "model": "model.id says it",
    "model_tag": "model.id says it",
    "served_model_name": "served_name says it",
    "revision": "model.revision says it",
    "port": "the Service and the probes use 8000",
    "host": "the engine listens on all addresses of its pod",
    "uds": "the Service and the probes need a port",
    "config": "state the arguments here, so that they are judged",
    "shutdown_timeout": "rollout.drain_seconds says it",
    **dict.fromkeys(
        (
            "nnodes",
            "node_rank",
            "master_addr",
            "headless",
            "data_parallel_rank",
            "data_parallel_start_rank",
            "data_parallel_size_local",
            "data_parallel_address",
            "data_parallel_external_lb",
            "data_parallel_hybrid_lb",
            "data_parallel_multi_port_external_lb",
        ),
        "servers[].nodes and servers[].balance say how a replica lies on nodes",
    ),
    "api_key": "a key on a command line is readable by everybody who sees the pod: give it as VLLM_API_KEY from a Secret (extra.pod_patch)",
}
"""Arguments that belong to the plan, and what says them instead."""

SWITCHES = frozenset({"switch", "boolean", "toggle"})
"""Kinds of argument that are true or false."""
_NUMBER = re.compile(r"^[+-]?\d+(\.\d+)?[kKmMgGtT]?$")
_WEIGHT_OF_THE_REST = 0.35
_NEAR = 0.34


@dataclass(frozen=True, slots=True)
class Option:
    """One argument."""

    name: str
    """With underscores, without dashes."""
    kind: str
    """switch, boolean, toggle, value, list or optional, as the newest version that has it reads it."""
    type: str
    """int, float, str, json or empty."""
    choices: tuple[Any, ...]
    """The only values that the newest version takes; empty for any."""
    since: str
    until: str
    structured: bool
    """Some version reads JSON."""
    config: str
    """The class of vLLM's configuration that it belongs to."""
    default: Any

    @property
    def flag(self) -> str:
        """As the command line has it."""
        return f"--{self.name.replace('_', '-')}"


@cache
def options() -> Mapping[str, Option]:
    """All arguments by name, of all versions that were read."""
    return {
        each.name: each for flag, spans in vllm_names("flags").spans.items() if flag.startswith("--") for each in [_option(flag, spans)]
    }


def _option(flag: str, spans: Sequence[Span]) -> Option:
    facts = spans[-1].facts
    return Option(
        name=flag[2:].replace("-", "_"),
        kind=str(facts["kind"]),
        type=str(facts.get("type", "")),
        choices=tuple(facts.get("choices", ())),
        since=spans[0].since,
        until=spans[-1].until,
        structured=any(span.facts.get("type") == "json" for span in spans),
        config=str(facts.get("config", "")),
        default=facts.get("default"),
    )


def newest() -> str:
    """The newest version that was read."""
    return vllm_names("flags").versions[-1]


def about(option: Option) -> str:
    """One sentence for whoever reads its name in documentation: flag, versions, values."""
    versions = f"since {option.since}" if option.until == newest() else f"from {option.since} to {option.until}"
    choices = f": {', '.join(map(str, option.choices))}" if option.choices else ""
    default = f"; default {json.dumps(option.default)}" if option.default not in (None, "", [], {}) else ""
    return f"vLLM's {option.flag}, {versions}{choices}{default}."


def named(name: str) -> Option | None:
    """The argument that a field names: with underscores or dashes, also an alias; None when no version has it."""
    found = options().get(name.replace("-", "_"))
    return found or options().get(canonical_flag(f"--{name}").lstrip("-").replace("-", "_"))


def problem(name: str, value: Any) -> str | None:
    """Why a person cannot state this value under ``engine``, or None."""
    option = named(name)
    if name in MANAGED:
        return f"is not stated here: {MANAGED[name]}"
    if option is None:
        return f"unknown key{instead(name)}; no version of vLLM has --{name.replace('_', '-')}"
    if option.name != name:
        return f"unknown key; did you mean {option.name}?"
    if value is None:
        return None
    return _type_problem(option, value)


def _type_problem(option: Option, value: Any) -> str | None:
    shown = f"{str(value)[:60]!r}"
    if option.kind in SWITCHES:
        return None if isinstance(value, bool) else f"{shown}: true or false is meant"
    if option.kind == "optional":
        return None if isinstance(value, bool | str) else f"{shown}: a text, or true, is meant"
    if option.kind == "list" or isinstance(option.default, list):
        items = value if isinstance(value, list | tuple) else (value,)
        wrong = next((item for item in items if isinstance(item, bool) or not isinstance(item, str | int | float | Mapping)), None)
        if wrong is not None:
            return f"{str(wrong)[:60]!r}: a list of texts or numbers is meant"
        return next((text for item in items if option.kind == "list" and (text := _scalar_problem(option, item))), None)
    if option.structured and isinstance(value, Mapping | list | tuple):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return f"{shown}: {_meant(option)} is meant"
    return _scalar_problem(option, value)


def _scalar_problem(option: Option, value: str | int | float) -> str | None:
    if option.choices and str(value) not in {str(choice) for choice in option.choices}:
        return f"{str(value)[:60]!r}: vLLM takes {', '.join(str(choice) for choice in option.choices)}"
    if option.type == "json" and isinstance(value, str):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return f"{value[:60]!r} is not JSON: write it as a mapping"
    if option.type == "int" and isinstance(value, float) and not value.is_integer():
        return f"{value!r}: a whole number is meant"
    if option.type == "int" and isinstance(value, str) and not _NUMBER.match(value) and value != "auto":
        return f"{value[:60]!r}: a whole number is meant"
    if option.type == "float" and (isinstance(value, str) or not math.isfinite(value)):
        return f"{str(value)[:60]!r}: a number is meant"
    return None


def _meant(option: Option) -> str:
    kinds = {"int": "a whole number", "float": "a number", "json": "a mapping"}
    return kinds.get(option.type, "a text")


def words(name: str, value: Any) -> list[str]:
    """The argument as the command line has it; nothing for None, and for a plain switch that is off."""
    if value is None:
        return []
    option = named(name)
    flag = option.flag if option else f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] if value else _off(flag, option)
    if option and option.kind == "list":
        return [flag, *map(_text, value if isinstance(value, list | tuple) else (value,))]
    if option and isinstance(option.default, list) and isinstance(value, list | tuple):
        return [flag, _text(value)] if option.type == "json" else [word for each in value for word in (flag, _text(each))]
    return [flag, _text(value)]


def _off(flag: str, option: Option | None) -> list[str]:
    """A switch that is off; ``disable_x`` that has given way to ``enable_x`` is written as that."""
    twin = named(f"enable_{option.name.removeprefix('disable_')}") if option and option.name.startswith("disable_") else None
    if twin is not None:
        return [twin.flag]
    return [] if option and option.kind == "switch" else [f"--no-{flag[2:]}"]


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    return str(value)


def instead(name: str) -> str:
    """What to write for a name that no version has: its replacement, a slip of the finger, or the nearest by meaning."""
    replacement = vllm_names("flags").replacements.get(f"--{name.replace('_', '-')}")
    if replacement is not None:
        note = f" ({replacement.note})" if replacement.note else ""
        return f"; write {replacement.to.lstrip('-').replace('-', '_')}{note}" if replacement.to else f"; leave it out{note}"
    begun = [each for each in options() if each.startswith(f"{name}_")]
    slips = begun if len(begun) == 1 else [each for each in options() if _letters(name, each) <= 2]
    if len(slips) == 1:
        return f"; did you mean {slips[0]}?"
    near = nearest(name)
    return f"; near in meaning: {', '.join(near)}" if near else ""


def nearest(name: str, most: int = 3) -> tuple[str, ...]:
    """The arguments that share the telling words of a name: a rare word counts more than one that many arguments have."""
    wanted = _terms(name)
    scored = sorted(((_score(wanted, _terms(each)), each) for each in options()), key=lambda pair: (-pair[0], pair[1]))
    return tuple(each for score, each in scored[:most] if score >= _NEAR)


@cache
def _rarity() -> Mapping[str, float]:
    """How much a word tells: the logarithm of how few arguments have it."""
    counts: dict[str, int] = {}
    for name in options():
        for term in _terms(name):
            counts[term] = counts.get(term, 0) + 1
    return {term: math.log(1 + len(options()) / count) for term, count in counts.items()}


# Words of other engines and of people for the words of vLLM's arguments.
_SAME = {
    "len": "length",
    "seqs": "sequences",
    "seq": "sequences",
    "sequence": "sequences",
    "reqs": "requests",
    "request": "requests",
    "concurrency": "sequences",
    "concurrent": "sequences",
    "batch": "batched",
    "tp": "tensor",
    "pp": "pipeline",
    "dp": "data",
    "mem": "memory",
    "ctx": "context",
    "gpus": "gpu",
    "quant": "quantization",
    "spec": "speculative",
    "draft": "speculative",
    "schedule": "scheduling",
    "scheduler": "scheduling",
    "queue": "queued",
    "images": "mm",
    "image": "mm",
    "multimodal": "mm",
    "cuda": "cudagraph",
    "graph": "cudagraph",
    "graphs": "cudagraph",
    "tools": "tool",
    "thinking": "reasoning",
}
_EMPTY = frozenset({"enable", "disable", "no", "use", "max", "num", "size", "the", "of"})


def _terms(name: str) -> frozenset[str]:
    return frozenset(_SAME.get(part, part) for part in re.split(r"[-_]+", name.lower()) if part)


def _score(wanted: Iterable[str], offered: Iterable[str]) -> float:
    """Shared words over all words, each by its rarity; fillers such as ``max`` count little."""
    wanted, offered = frozenset(wanted), frozenset(offered)

    def weight(terms: Iterable[str]) -> float:
        return sum(_rarity().get(term, 5.0) * (_WEIGHT_OF_THE_REST if term in _EMPTY else 1.0) for term in terms)

    return weight(wanted & offered) / max(weight(wanted | offered), 1e-9)


def _letters(one: str, other: str) -> int:
    if abs(len(one) - len(other)) > 2:
        return 3
    edits = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for kind, a, b, c, d in edits if kind != "equal")
