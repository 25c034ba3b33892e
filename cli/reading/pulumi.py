"""``pulumi preview --json`` and ``pulumi stack export`` as documents."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.paths import child_path
from interlock.infra.recognise import Document

_PREFIX = "kubernetes:"
_GONE = frozenset({"delete", "delete-replaced", "discard", "read"})


def resources(data: Any, file: str) -> list[Document] | None:
    """The Kubernetes objects that a preview plans or a stack holds; None when the data is neither."""
    if not isinstance(data, Mapping):
        return None
    if isinstance(data.get("steps"), list):
        return list(_documents(_steps(data["steps"]), file))
    deployment = data.get("deployment")
    if isinstance(deployment, Mapping) and isinstance(deployment.get("resources"), list):
        rows = ((f"deployment.resources[{index}]", row) for index, row in enumerate(deployment["resources"]))
        return list(_documents(rows, file))
    return None


def program(data: Any, file: str, index: int) -> list[Document] | None:
    """The Kubernetes objects of a Pulumi YAML program; None when the document is none. Expressions in them are not known here."""
    if not isinstance(data, Mapping) or not isinstance(data.get("resources"), Mapping):
        return None
    runtime = data.get("runtime")
    if (runtime.get("name") if isinstance(runtime, Mapping) else runtime) != "yaml":
        return None
    found = []
    for name, resource in data["resources"].items():
        if isinstance(resource, Mapping) and isinstance(resource.get("properties"), Mapping):
            state = {"type": resource.get("type"), "inputs": resource["properties"]}
            found.append((child_path(child_path("resources", str(name)), "properties"), state))
    return [replace(each, index=index, path=each.path.removesuffix(".inputs")) for each in _documents(found, file)]


def _steps(steps: list[Any]) -> Iterator[tuple[str, Any]]:
    for index, step in enumerate(steps):
        if isinstance(step, Mapping) and step.get("op") not in _GONE:
            yield f"steps[{index}].newState", step.get("newState")


def _documents(rows: Any, file: str) -> Iterator[Document]:
    for path, state in rows:
        kind = state.get("type") if isinstance(state, Mapping) else None
        if not isinstance(kind, str) or not kind.startswith(_PREFIX) or not isinstance(state.get("inputs"), Mapping):
            continue
        # kubernetes:apps/v1:Deployment; custom resources and the provider's own types carry kind and apiVersion or are left out.
        _, group, name = kind.split(":", 2) if kind.count(":") == 2 else ("", "", kind)
        data = {"apiVersion": group.removeprefix("core/"), "kind": name, **state["inputs"]}
        yield Document(data, file, 0, f"{path}.inputs")
