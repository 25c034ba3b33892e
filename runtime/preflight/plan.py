"""What the object ``preflight`` of the spec may hold. A field that is not there is not looked at."""

from collections.abc import Callable, Mapping
from typing import Any

from interlock.runtime.spec import VARIABLE
from interlock.runtime.words import RefusedError

SHARING = ("exclusive", "time-sliced", "mps", "mig")
Check = tuple[Callable[[Any], bool], str]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


TEXT: Check = (lambda value: isinstance(value, str) and bool(value), "a string")
WHOLE: Check = (_whole, "a whole number")
FIELDS: dict[str, Check] = {
    "gpus": (lambda value: isinstance(value, dict) and "count" in value, "an object with a count"),
    "gpus.count": WHOLE,
    "gpus.model": TEXT,  # the product, as the driver or the node's label names it
    "gpus.memory_mib": WHOLE,  # at least
    "gpus.sharing": (lambda value: value in SHARING, f"one of {', '.join(SHARING)}"),
    "gpus.profile": TEXT,  # of MIG: 1g.10gb
    "cuda": (lambda value: isinstance(value, str) and value[:1].isdigit(), "a version like 13.0"),
    "shm_mib": WHOLE,
    "memory_mib": WHOLE,
    "model": (lambda value: isinstance(value, dict) and "name" in value, "an object with a name"),
    "model.name": TEXT,  # a folder, or a repository of the hub
    "model.revision": TEXT,
    "model.architecture": TEXT,
    "writable": (
        lambda value: isinstance(value, list) and all(isinstance(each, str) and each[:1] == "/" for each in value),
        "a list of folders",
    ),
}


def check(plan: Mapping[str, Any], above: str = "") -> None:
    """Raises RefusedError with the field, its value and what it must be."""
    for name, value in plan.items():
        path = f"{above}{name}"
        if path not in FIELDS:
            known = ", ".join(sorted(each for each in FIELDS if each.count(".") == path.count(".")))
            raise RefusedError(f"{VARIABLE}.preflight.{path} is not known; the fields are {known}")
        good, wanted = FIELDS[path]
        if not good(value):
            raise RefusedError(f"{VARIABLE}.preflight.{path} is {value!r} and must be {wanted}")
        if isinstance(value, dict):
            check(value, f"{path}.")
