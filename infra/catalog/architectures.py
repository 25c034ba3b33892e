"""Which architectures vLLM serves, from its registry (architectures.json)."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


@cache
def _table() -> Mapping[str, Any]:
    loaded = json.loads(resources.files("interlock.infra.catalog").joinpath("architectures.json").read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


@cache
def without_pipeline() -> frozenset[str]:
    """Architectures whose classes cannot be cut into pipeline stages."""
    return frozenset(_table()["no_pipeline"])


@cache
def known() -> frozenset[str]:
    """Architectures that some version from 0.26 to 0.33 serves with a class of its own, or once did."""
    return frozenset(_table()["known"]) | frozenset(_table()["removed"]) | frozenset(_table()["plugins"])


def last_version(architecture: str) -> str | None:
    """The last version with a class for an architecture that was removed; None for one that was not."""
    found = _table()["removed"].get(architecture)
    return str(found) if found else None


def plugin(architecture: str) -> str | None:
    """The plug-in that serves an architecture which vLLM itself does not."""
    found = _table()["plugins"].get(architecture)
    return str(found) if found else None
