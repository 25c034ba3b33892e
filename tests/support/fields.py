"""Documents as the types of the field tables see them."""

from collections.abc import Iterator
from typing import Any

from interlock.infra.catalog.fields import resources, types
from interlock.infra.catalog.tables import table

OWN: dict[str, Any] = table("k8s_fields.json")


def typed(document: Any) -> Iterator[tuple[str, Any]]:
    """Every value of a document with the name of its type."""
    key = f"{document.get('apiVersion')}/{document.get('kind')}" if isinstance(document, dict) else ""
    name = OWN["kinds"].get(key) or (resources()[key].type if key in resources() else None)
    if name:
        yield from _walk(document, name)


def _walk(value: Any, kind: str) -> Iterator[tuple[str, Any]]:
    if kind.startswith("[]"):
        for each in value if isinstance(value, list) else ():
            yield from _walk(each, kind[2:])
    elif kind.startswith("map:"):
        for each in value.values() if isinstance(value, dict) else ():
            yield from _walk(each, kind[4:])
    elif isinstance(value, dict) and (row := OWN["types"].get(kind) or types().get(kind)):
        yield kind, value
        for key, inner in value.items():
            if key in row["fields"] and inner is not None:
                yield from _walk(inner, row["fields"][key])
