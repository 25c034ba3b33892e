"""The namespace of a stack and what its stores share, as the Workspace component gets them."""

from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import Keep
from interlock.infra.manifests.render import namespace_object
from interlock.infra.manifests.store_bundle import namespace_keep, shared_objects
from interlock.infra.plan.types import Planned


class WorkspaceObjects(Planned):
    """A namespace and what must exist in it before any store."""

    name: str
    """Name of the namespace."""
    namespace: dict[str, Any] | None
    """The Namespace; None when somebody else makes it."""
    manifests: tuple[dict[str, Any], ...]
    """Objects that all stores share."""
    keep: Keep
    """What a destroy does with the namespace: no less than with the claims in it, which would go with it."""


def workspace_objects(config: ClusterConfig, stack: str) -> WorkspaceObjects:
    """The workspace of ``stack``."""
    made = namespace_object(config, stack) if config.create_namespace else None
    return WorkspaceObjects(
        name=config.namespace, namespace=made, manifests=tuple(shared_objects(config, stack)), keep=namespace_keep(config)
    )
