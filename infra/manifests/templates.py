"""The pod templates in an object."""

from collections.abc import Iterator
from typing import Any

from interlock.infra.paths import child_path


def templates(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(path, pod template) of everything in ``node`` that makes pods."""
    for key, value in node.items() if isinstance(node, dict) else ():
        place = child_path(path, key)
        if key.endswith(("template", "Template")) and isinstance(value, dict) and "containers" in value.get("spec", {}):
            yield place, value
        else:
            yield from templates(value, place)
    for at, value in enumerate(node if isinstance(node, list) else ()):
        yield from templates(value, f"{path}[{at}]")
