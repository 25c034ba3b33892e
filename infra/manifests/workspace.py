"""The namespace of a stack and its stores, as the Workspace component gets them."""

from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.common import Manifest
from interlock.infra.manifests.render import namespace_object
from interlock.infra.manifests.stores import objects_for
from interlock.infra.plan.types import Planned


class WorkspaceObjects(Planned):
    """A namespace and what must exist in it before any server."""

    name: str
    """Name of the namespace."""
    namespace: dict[str, Any] | None
    """The Namespace; None when somebody else makes it."""
    claims: tuple[dict[str, Any], ...]
    """Claims and other objects of the stores."""
    protect: bool
    """Protect and retain the volumes, and the namespace that holds them."""


def workspace_objects(config: ClusterConfig, stack: str) -> WorkspaceObjects:
    """The workspace of ``stack``."""
    claims: list[Manifest] = [made for store in config.stores for made in objects_for(store, stack, config.namespace)]
    made = namespace_object(config, stack) if config.create_namespace else None
    return WorkspaceObjects(name=config.namespace, namespace=made, claims=tuple(claims), protect=config.production)
