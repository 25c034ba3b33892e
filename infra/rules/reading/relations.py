"""What the table of relations asks about an engine, as facts by its names."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.engine.flags import shape
from interlock.infra.facts import Bundle, Fact, Workload, absent, known, unknown
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.planner import capability, exact, facts_of
from interlock.infra.rules.reading.units import accelerators, engine_containers
from interlock.infra.sizing import ModelFacts
from interlock.infra.sizing.model.layer_plan import is_mla

_PLAIN = ("serve", "module", "image", "shell")
# vllm/engine/arg_utils.py: these flags write a member of --speculative-config.
_SHORT = {
    "speculative-config.method": "spec-method",
    "speculative-config.model": "spec-model",
    "speculative-config.num_speculative_tokens": "spec-tokens",
}
_MODEL: Mapping[str, Callable[[ModelFacts], Any]] = {
    "heads": lambda facts: facts.attention_heads or None,
    "kv-heads": lambda facts: facts.kv_heads or None,
    "experts": lambda facts: facts.experts,
    "architecture": lambda facts: facts.architecture or None,
    "type": lambda facts: facts.model_type or None,
    "multimodal": lambda facts: facts.multimodal,
    "mla": lambda facts: is_mla(facts.text),
    "sparse": lambda facts: "index_topk" in facts.text,
    "encoder-decoder": lambda facts: bool(facts.config.get("is_encoder_decoder")),
}


class Asked(Mapping[str, Fact[Any]]):
    """The facts of one engine by the names of the table, read when they are asked for."""

    def __init__(self, workload: Workload, bundle: Bundle) -> None:
        self._workload, self._bundle = workload, bundle
        self._read: dict[str, Fact[Any]] = {}

    def __getitem__(self, name: str) -> Fact[Any]:
        if name not in self._read:
            self._read[name] = self._find(name)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)

    def _find(self, name: str) -> Fact[Any]:
        workload = self._workload
        if name.startswith("env:"):
            return _variable(workload, name.removeprefix("env:"))
        if name.startswith("model:"):
            return _of_model(workload, name.removeprefix("model:"))
        if name in _SPECIAL:
            return _SPECIAL[name](workload, self._bundle)
        own = name.removesuffix(":json")
        flag, dot, rest = own.partition(".")
        if not dot:
            return _flag(workload, flag)
        found = member(workload, flag, rest.split("."))
        return self[_SHORT[name]] if found.absent and name in _SHORT else found

    def written(self) -> frozenset[str]:
        """Flags and variables that may be stated; a short flag also stands for the JSON flag that it writes into."""
        flags = {flag.name for flag in self._workload.engine.flags}
        joined = {"speculative-config"} if flags & {*_SHORT.values()} else set()
        return frozenset(flags | joined | {f"env:{name}" for name in self._workload.engine.env})


def _flag(workload: Workload, name: str) -> Fact[Any]:
    given = workload.engine.flag(name)
    if given.known and shape(f"--{name}").takes_many and isinstance(given.value, str):
        return given.map(lambda text: str(text).split())
    return given


def member(workload: Workload, flag: str, keys: list[str]) -> Fact[Any]:
    """A member of a JSON flag; nothing is known of text that is not JSON or partly unknown."""
    given = workload.engine.flag(flag)
    if not given.known:
        return given
    written = [each.value for each in workload.engine.flags if each.name == flag]
    try:
        value = [json.loads(str(each.get())) for each in written if each.known][-1]
    except (ValueError, RecursionError):
        return unknown(given.path, "is not JSON")
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        return unknown(given.path) if any(each.unknown for each in written) else absent(given.path)
    return known(value, given.path)


def _variable(workload: Workload, name: str) -> Fact[Any]:
    """A variable; it is certainly absent only where nothing else may set it: the image, a script, another source."""
    given = workload.engine.env.get(name)
    if given is not None:
        return given
    others = any(container.env_from for _, container in engine_containers(workload))
    sure = workload.engine.complete and workload.engine.entrypoint in _PLAIN and official(workload) and not others
    return absent() if sure else unknown(why="may be set elsewhere")


def _of_model(workload: Workload, name: str) -> Fact[Any]:
    facts = facts_of(workload)
    changed = not workload.engine.flag("hf-overrides").absent
    if facts is None or not facts.complete or changed or not exact(workload):
        return unknown()
    value = _MODEL[name](facts) if name in _MODEL else None
    return unknown() if value is None else known(value)


def _gpus(workload: Workload, bundle: Bundle) -> Fact[Any]:
    """Whole cards of the container that runs the server in a group of pods (one pod alone is counted by GPU-001)."""
    first = next(engine_containers(workload), None)
    alone = len(workload.pods) == 1 and workload.pods[0].count.default(1).value == 1
    if first is None or alone or workload.engine.entrypoint not in _PLAIN or workload.ray is not None:
        return unknown()
    units = [each for each in accelerators(first[1]) if not (each.count.known and each.count.value == 0)]
    if len(units) != 1 or units[0].unit != "card" or not units[0].count.known:
        return unknown()
    return replace(units[0].count, value=units[0].count.get())


def _capability(workload: Workload, bundle: Bundle) -> Fact[Any]:
    found = capability(workload, bundle) if bundle.pool(workload) else None
    return unknown() if found is None else known(found)


_SPECIAL: Mapping[str, Callable[[Workload, Bundle], Fact[Any]]] = {
    "gpus": _gpus,
    "capability": _capability,
    "vendor": lambda workload, _: workload.vendor,
    "model": lambda workload, _: workload.engine.model,
}
