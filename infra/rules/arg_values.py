"""Values of engine arguments against what its version takes: listed ones, registered names, integers, JSON, adapters."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.infra.catalog.expressions import number
from interlock.infra.catalog.vllm_flags import flag_facts, flag_status
from interlock.infra.engine.choices import Unlisted, unknown_key, unlisted, unregistered
from interlock.infra.facts import Bundle, Flag, Place, Workload
from interlock.infra.rules.arg_flags import CLI, SOURCE, unique, version_text
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.quantization import KERNELS, stored
from interlock.infra.rules.reading.relations import Asked
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings, put, rule

_INTEGER = re.compile(r"^[+-]?\d+$")
# What templates and infrastructure code make of an integer; 16k and 1.5m are taken.
_FLOAT = re.compile(r"^\d{1,15}\.\d+$|^\d(?:\.\d+)?[eE][+-]?\d{1,2}$")
_HUMAN = (
    "max-model-len",
    "max-num-batched-tokens",
    "kv-cache-memory-bytes",
    "max-num-queued-tokens",
    "max-num-seqs",
    "long-prefill-token-threshold",
)
_UNSTATED = ("", "None", "auto")
"""Texts that some version takes in place of a number."""
_TOLD = ("max-lora-rank", "preemption-mode", "tool-call-parser", "reasoning-parser")
"""Another rule speaks of their values, or they are registered by name."""


@rule(
    "ARG-003",
    Severity.ERROR,
    demand="A flag's value is one that the engine's version takes.",
    reason="The parser or the configuration refuses the value, and the engine exits before the model is loaded.",
    source=f"{SOURCE}; tool_parsers, reasoning, quantization and kv_connector of 17 wheels (infra/catalog/vllm_values.json), "
    "classes of arguments (infra/catalog/vllm_members.json)",
    remedy="Choose one of the listed values.",
    fault="broken-arg",
    links=CLI,
)
def values(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    version = version_text(workload)
    level = Severity.ERROR if official(workload) and version else Severity.WARNING
    for flag in unique(workload):
        facts = flag_facts(f"--{flag.name}", version)
        if facts and flag.value.known and flag_status(f"--{flag.name}", version).exists:
            yield from _of_flag(flag, facts, version, level, parsed=workload.engine.parsed)
    yield from _registered(workload, bundle, version, level)


def _of_flag(flag: Flag, facts: Mapping[str, Any], version: str | None, level: Severity, *, parsed: bool) -> Iterator[Hit]:
    value, place = flag.value.get(), flag.value.path or flag.path
    kind, wrong = facts.get("kind"), unlisted(flag.name, value, version) if flag.name not in _TOLD else None
    if wrong:
        yield _one_of(_Wrong(place, f"--{flag.name} {value}", version, level, flag), wrong)
    elif kind == "value" and facts.get("type") == "int" and flag.name in _HUMAN and _FLOAT.match(value):
        text = f"--{flag.name} {value} is a number of a program, not an integer as the parser reads it; it exits with code 2"
        meant = float(value)
        remedy, fixes = (f"write {meant:.0f}", put(place, int(meant), flag=flag.name)) if meant.is_integer() else ("write an integer", ())
        yield Hit(place, text, remedy, value, severity=level, fixes=fixes)
    elif kind == "value" and facts.get("type") == "int" and _not_an_integer(flag.name, value, facts):
        meant_as = "an integer such as 32768, 32k (32000) or 32K (32768)" if flag.name in _HUMAN else "an integer"
        yield Hit(place, f"--{flag.name} {value[:60]!r} is not {meant_as}", "write an integer", value[:80], severity=level)
    elif kind == "value" and facts.get("type") == "float" and not _is_float(value):
        yield Hit(place, f"--{flag.name} {value[:60]!r} is not a number", "write a number", value[:80], severity=level)
    elif kind == "value" and facts.get("type") == "json" and parsed and value not in ("", "None"):
        said = _not_json(value)
        if said:
            text = f"--{flag.name} takes JSON, and {value[:60]!r} is not ({said})"
            yield Hit(place, text, "write JSON: keys and texts in double quotes, no trailing comma", value[:80], severity=level)
        else:
            yield from _keys(flag.name, json.loads(value), place, version, level)
    elif flag.name == "lora-modules" and parsed:
        for item in _items(value):
            if not ("=" in item and "," not in item) and not item.startswith("{"):
                text = f"--lora-modules {item[:60]}: an adapter is name=path, or JSON with name and path"
                yield Hit(place, text, "write name=path", item[:80], severity=level)


def _keys(name: str, given: Any, place: str, version: str | None, level: Severity) -> Iterator[Hit]:
    """Keys of an object that its class does not have in that version: the parser refuses the whole argument."""
    for key in given if isinstance(given, Mapping) else ():
        wrong = unknown_key(name, str(key), version)
        if wrong:
            text = f"--{name} has no key {str(key)[:60]!r} in vLLM {version}"
            fix = f"write {wrong.meant}" if wrong.meant else f"its keys are {wrong.some}"
            yield Hit(place, text, fix, str(key)[:80], severity=level)


def _not_an_integer(name: str, value: str, facts: Mapping[str, Any]) -> bool:
    if name in _HUMAN:
        return value not in _UNSTATED and number(value.replace("_", "")) is None
    return not facts.get("choices") and _INTEGER.match(value) is None


def _is_float(value: str) -> bool:
    """As argparse reads it: ``float`` of the text."""
    try:
        float(value)
    except ValueError:
        return value in _UNSTATED
    return True


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A value that is none of those that are taken."""

    path: str
    given: str
    version: str | None
    level: Severity
    flag: Flag | None = None
    """The flag that it is the whole value of."""


def _one_of(wrong: _Wrong, there: Unlisted) -> Hit:
    text = f"{wrong.given}: vLLM {wrong.version or ''} takes only {there.some}".replace("  ", " ")
    flag, meant = wrong.flag, there.meant
    fix = f"write {meant}" if meant else f"choose one of these, or remove --{flag.name}" if flag else "choose one of these"
    fixes = put(flag.path, meant, flag=flag.name) if meant and flag else ()
    return Hit(wrong.path, text, fix, wrong.given.rpartition(" ")[2], severity=wrong.level, fixes=fixes)


def _not_json(value: str) -> str:
    """Why a text is not JSON; empty when it is."""
    try:
        json.loads(value)
    except ValueError as error:
        return str(error)[:80]
    except RecursionError:
        return "nested too deeply"
    return ""


def _items(text: str) -> list[str]:
    """Words of a list; an object of JSON is one, whatever spaces it has."""
    found: list[str] = []
    rest, decoder = text.strip(), json.JSONDecoder()
    while rest:
        try:
            end = decoder.raw_decode(rest)[1] if rest.startswith("{") else len(rest.split(None, 1)[0])
        except (ValueError, RecursionError):
            return found  # Broken JSON: where it ends cannot be said.
        found.append(rest[:end])
        rest = rest[end:].lstrip()
    return found


_REGISTERED: Mapping[str, tuple[str, ...]] = {
    "tool-call-parser": ("tool-parser-plugin",),
    "reasoning-parser": ("reasoning-parser-plugin",),
    "kv-transfer-config.kv_connector": ("kv-transfer-config.kv_connector_module_path",),
    "quantization": (),
}
"""Arguments whose values are registered by name, with the arguments that load others."""


def _registered(workload: Workload, bundle: Bundle, version: str | None, level: Severity) -> Iterator[Hit]:
    facts = Asked(workload, bundle)
    for name, plugins in _REGISTERED.items():
        fact = facts[name]
        if not fact.known or not isinstance(fact.value, str) or not all(facts[each].absent for each in plugins):
            continue
        value, there = fact.value, unregistered(name, fact.value, version)
        own = stored(workload) if value in KERNELS else None
        if there is None or own in KERNELS.get(value, ()):
            continue
        # Whether a kernel's name is taken depends on the checkpoint.
        sure = value not in KERNELS or own is not None
        flag = next((each for each in reversed(workload.engine.flags) if each.name == name), None)
        given = f"--{name} {value}" if flag else f"{name.rpartition('.')[2]} {value}"
        yield _one_of(_Wrong(where(workload, Place.ARGS, fact), given, version, level if sure else Severity.WARNING, flag), there)
