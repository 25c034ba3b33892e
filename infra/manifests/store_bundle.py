"""Stores as the ModelStore component gets them."""

from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import Keep, StoreConfig
from interlock.infra.manifests.prefetch import DEADLINE, needs_program, prefetch_objects, script_map
from interlock.infra.manifests.stores import objects_for
from interlock.infra.plan.stores import keep
from interlock.infra.plan.types import Planned


class StoreObjects(Planned):
    """One store: its volumes and claims, and the Jobs that fill it."""

    name: str
    """Name of the store."""
    volumes: tuple[dict[str, Any], ...]
    """StorageClass, volumes and claim in the order in which they must exist."""
    jobs: tuple[dict[str, Any], ...]
    """Prefetch Jobs; servers start when they are done."""
    keep: Keep
    """What a destroy does with the volumes."""
    job_timeout: int = DEADLINE
    """Seconds that Pulumi waits for a Job."""


def store_bundle(config: ClusterConfig, store: StoreConfig, stack: str) -> StoreObjects:
    """The component's input for ``store``."""
    return StoreObjects(
        name=store.name,
        volumes=tuple(objects_for(store, stack, config.namespace)),
        jobs=tuple(prefetch_objects(config, store, stack)),
        keep=keep(store, config.production),
    )


def shared_objects(config: ClusterConfig, stack: str) -> list[dict[str, Any]]:
    """What the stores have in common: the program of their Jobs and copies."""
    return [script_map(stack, config.namespace)] if needs_program(config) else []


def namespace_keep(config: ClusterConfig) -> Keep:
    """What a destroy does with the namespace: what it does with the claims in it, since they would go with it."""
    found = {keep(store, config.production) for store in config.stores if objects_for(store, "stack", config.namespace)}
    return next((level for level in (Keep.PROTECT, Keep.RETAIN) if level in found), Keep.DELETE)
