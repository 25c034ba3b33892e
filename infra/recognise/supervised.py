"""Our own supervisor around an engine: its settings, and its liveness probe."""

import json
from collections.abc import Mapping, Sequence

from interlock.infra.facts import Container, Fact, Role, Supervisor, known, unknown
from interlock.infra.facts.supervisor import ARCHIVE, SETTINGS

DEFAULTS: Mapping[str, float] = {"drain_seconds": 60, "teardown_seconds": 25, "hang_seconds": 0}
"""What the supervisor takes where its settings say nothing (docs/runtime.md)."""


def supervisor_of(container: Container, environment: Mapping[str, Fact[str]]) -> Supervisor | None:
    """The supervisor that a container's command starts, or None."""
    if not _runs(container, "run"):
        return None
    given = environment.get(SETTINGS, Fact())
    drain, teardown, hang = (_setting(given, name) for name in DEFAULTS)
    words = [*(container.command.value or ()), *(container.args.value or ())]
    folder = next(word for word in words if word.rsplit("/", 1)[-1] == ARCHIVE).rpartition("/")[0]
    return Supervisor(path=given.path, folder=folder, drain=drain, teardown=teardown, hang=hang)


def is_preflight(container: Container) -> bool:
    """Whether it is our look at the machine before the engine starts."""
    return container.role is Role.INIT and _runs(container, "preflight")


def after_supervisor(words: Sequence[str]) -> int | None:
    """Where the command line begins that our supervisor starts among a container's ``words``; None without a supervisor."""
    at = _command_at(words, "run")
    return None if at is None else at + (words[at : at + 1] == ["--"])


def _runs(container: Container, command: str) -> bool:
    return _command_at([*(container.command.value or ()), *(container.args.value or ())], command) is not None


def _command_at(words: Sequence[str], command: str) -> int | None:
    """The place behind ``interlock-runtime.pyz COMMAND``."""
    names = [word.rsplit("/", 1)[-1] for word in words]
    found = ARCHIVE in names and names[names.index(ARCHIVE) + 1 :][:1] == [command]
    return names.index(ARCHIVE) + 2 if found else None


def _setting(given: Fact[str], name: str) -> Fact[float]:
    path = f"{given.path}.{name}" if given.path else ""
    if not given.known:
        return unknown(given.path, given.why or f"{SETTINGS} is not set")
    try:
        value = json.loads(given.get()).get(name, DEFAULTS[name])
    except (ValueError, AttributeError):
        return unknown(given.path, f"{SETTINGS} is not a JSON object")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return unknown(path, f"{name} is not a number")
    return known(float(value), path)


def silence_of(command: Sequence[Fact[str]]) -> Fact[float]:
    """The silence that our liveness probe allows: ``... interlock-runtime.pyz live 120``; absent for another command."""
    names = [(fact.value or "").rsplit("/", 1)[-1] for fact in command]
    if ARCHIVE not in names or names[-2:-1] != ["live"]:
        return Fact()
    try:
        return known(float(names[-1]), command[-1].path)
    except ValueError:
        return unknown(command[-1].path, f"{names[-1][:40]!r} is not a number of seconds")
