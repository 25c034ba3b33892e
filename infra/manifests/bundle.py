"""What a component gets: planned objects with the few plain values it wires by."""

from typing import Any

from interlock.infra.manifests.common import Manifest
from interlock.infra.plan.types import Planned, PlannedServer

DELETE_MARGIN = 120
"""Seconds beyond the grace period that a deletion may take."""


class ServerObjects(Planned):
    """The objects of one server and how they are awaited."""

    name: str
    """Name of the server."""
    manifests: tuple[dict[str, Any], ...]
    """Kubernetes objects in the order in which they must exist."""
    update_timeout: int
    """Seconds that Pulumi waits for the Deployment."""
    delete_timeout: int
    """Seconds that Pulumi waits for its deletion."""
    url: str
    """Base URL inside the cluster."""

    @staticmethod
    def logical_name(component: str, manifest: Manifest) -> str:
        """Logical name of a child: unique in the stack, stable when the object's content (and so its hash) changes."""
        return f"{component}-{manifest['kind'].lower()}"


def server_bundle(server: PlannedServer, manifests: list[Manifest]) -> ServerObjects:
    """The component's input for ``server``."""
    return ServerObjects(
        name=server.name,
        manifests=tuple(manifests),
        update_timeout=server.times.update_timeout,
        delete_timeout=server.times.grace + DELETE_MARGIN,
        url=internal_url(server),
    )


def internal_url(server: PlannedServer) -> str:
    """Base URL inside the cluster."""
    return f"http://{server.name}.{server.namespace}.svc.cluster.local/v1"
