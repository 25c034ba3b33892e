"""What all objects share: labels and metadata."""

from collections.abc import Mapping
from typing import Any

from interlock.infra.catalog.kinds import kind_of
from interlock.infra.manifests.placed import Manifest, put
from interlock.infra.naming import MANAGED_BY, label
from interlock.infra.plan.types import ClusterPlan, PlannedServer

__all__ = ["MANAGED_BY", "Manifest", "labels", "manifest", "selector", "server_manifest"]


def selector(stack: str, server: str) -> dict[str, str]:
    """The labels by which a server's pods, and only they, are found. Never changed: a Deployment's selector is immutable."""
    return {label("stack"): stack, label("server"): put(server, "name")}


def labels(stack: str, server: str) -> dict[str, str]:
    """Labels of every object of a server."""
    return {
        "app.kubernetes.io/name": "vllm",
        "app.kubernetes.io/instance": put(server, "name"),
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


def server_manifest(plan: ClusterPlan, server: PlannedServer, api_version: str, kind: str, **body: Any) -> Manifest:
    """An object of ``server`` under the server's own name."""
    made = manifest(api_version, kind, put(server.name, "name"), None, labels(plan.stack, server.name), **body)
    made["metadata"]["namespace"] = put(server.namespace, "namespace")
    return made
