"""What all objects share: labels, metadata, and the provenance of their fields."""

from collections.abc import Mapping
from typing import Any

from interlock.infra.catalog.kinds import kind_of
from interlock.infra.naming import label

Manifest = dict[str, Any]
"""A Kubernetes object as plain camelCase data."""

MANAGED_BY = "interlock"


def selector(stack: str, server: str) -> dict[str, str]:
    """The labels by which a server's pods, and only they, are found. Never changed: a Deployment's selector is immutable."""
    return {label("stack"): stack, label("server"): server}


def labels(stack: str, server: str) -> dict[str, str]:
    """Labels of every object of a server."""
    return {
        "app.kubernetes.io/name": "vllm",
        "app.kubernetes.io/instance": server,
        "app.kubernetes.io/managed-by": MANAGED_BY,
        **selector(stack, server),
    }


def manifest(api_version: str, kind: str, name: str, namespace: str | None, meta_labels: Mapping[str, str], **body: Any) -> Manifest:
    """An object with its metadata; ``namespace`` None = cluster-wide. Raises UnknownKindError for a kind that the catalog does not have."""
    kind_of(api_version, kind)
    metadata: dict[str, Any] = {"name": name, "labels": dict(meta_labels)}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
