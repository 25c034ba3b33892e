"""What a person may set about the rules: thresholds, severities and waivers, each of a rule that exists."""

from collections.abc import Iterable, Iterator, Mapping

from interlock.infra.catalog.near import nearest
from interlock.infra.paths import child_path
from interlock.infra.rules.judge import RULES
from interlock.infra.rules.waivers import UNREADABLE

OTHERS = ("GPU-108", UNREADABLE)
"""Codes of findings that no rule over facts makes: a change of sharing in a live cluster, a waiver that cannot be read."""
STRICT: Mapping[str, str] = {"VER-001.severity": "error"}
"""Severities in production: what runs today and is another engine tomorrow is refused."""
LEVELS = ("error", "warning", "info", "off")


def setting_problems(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """(name, problem) of every setting of no rule, or of another type than its default: ``ROLL-001.least_seconds`` takes a number."""
    rules = {rule.code: rule for rule in RULES}
    for name, value in settings.items():
        code, _, key = name.partition(".")
        if code not in rules:
            yield name, f"{code!r} is not the code of a rule{nearest(code.upper(), {each: each for each in rules})}"
        elif key == "severity":
            if value not in LEVELS:
                yield name, f"{value!r} is not one of {', '.join(LEVELS)}"
        elif key not in rules[code].settings:
            yield name, f"{code} has no setting {key!r}; it has: {', '.join((*rules[code].settings, 'severity'))}"
        elif problem := _of_another_type(value, rules[code].settings[key]):
            yield name, problem


def waiver_problems(codes: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(position, problem) of every waiver that covers no finding there is."""
    known = {each: each for each in (*(rule.code for rule in RULES), *OTHERS)}
    for position, code in enumerate(codes):
        if code not in known:
            yield position, f"{code!r} is not the code of a finding{nearest(code, known)}"


def stated_problems(settings: Mapping[str, object], codes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(path, problem) of everything that a configuration states about rules: its ``rules``, and the codes of its ``waivers``."""
    yield from ((child_path("rules", name), text) for name, text in setting_problems(settings))
    yield from ((f"waivers[{at}].code", text) for at, text in waiver_problems(codes))


def _of_another_type(value: object, default: float | int | str | bool) -> str:
    if isinstance(default, str):
        return "" if isinstance(value, str) else f"{value!r} is not text, such as {default[:40]!r}"
    right = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return "" if right else f"{value!r} is not a number of 0 or more, such as {default}"


__all__ = ["STRICT", "setting_problems", "stated_problems", "waiver_problems"]
