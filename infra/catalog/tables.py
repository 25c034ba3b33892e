"""The one opener of the package's data files; each file is read when it is first asked for, and once."""

import json
import pkgutil
from functools import cache
from typing import Any


@cache
def _loaded(name: str) -> Any:
    # pkgutil reads from a folder, a wheel and a zipapp alike, and costs no import that the interpreter has not done already.
    raw = pkgutil.get_data(__package__ or "", name)
    if raw is None:
        raise FileNotFoundError(f"{name} is not a data file of {__package__}")
    return json.loads(raw)


def table(name: str) -> dict[str, Any]:
    """The JSON object in the catalog's file ``name``. It is shared: callers do not change it. Raises FileNotFoundError and TypeError."""
    loaded = _loaded(name)
    if not isinstance(loaded, dict):
        raise TypeError(f"{name} holds a list: read it with rows()")
    return loaded


def rows(name: str) -> list[dict[str, Any]]:
    """The JSON list of objects in the catalog's file ``name``, shared like a ``table``. Raises FileNotFoundError and TypeError."""
    loaded = _loaded(name)
    if not isinstance(loaded, list):
        raise TypeError(f"{name} holds an object: read it with table()")
    return loaded
