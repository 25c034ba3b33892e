"""The catalog's data files."""

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The JSON object of a file of this package, read once. It is shared: callers do not change it."""
    loaded = json.loads(resources.files("interlock.infra.catalog").joinpath(name).read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded
