"""All objects of a plan in the order in which they must exist, family by family, as the components get them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.config.platform import GpuLayerKind
from interlock.infra.config.pools import PoolBackend, Sharing
from interlock.infra.config.stores import Keep, StoreConfig
from interlock.infra.manifests.device_plugin import device_plugin_objects, plugin_pools
from interlock.infra.manifests.mig import mig_objects
from interlock.infra.manifests.namespace import namespace_object
from interlock.infra.manifests.node_pools import PoolIntent, pool_intent, pool_objects
from interlock.infra.manifests.placed import Draft, Manifest, finished, put
from interlock.infra.manifests.prefetch import DEADLINE, needs_program, prefetch_objects, script_map
from interlock.infra.manifests.priority import priority_objects
from interlock.infra.manifests.quota import tenant_objects
from interlock.infra.manifests.servers import server_objects
from interlock.infra.manifests.stores import objects_for
from interlock.infra.plan.shares import plugin_class
from interlock.infra.plan.stores import keep
from interlock.infra.plan.types import ClusterPlan, PlannedServer

DELETE_MARGIN = 120
"""Seconds beyond the grace period that a deletion may take."""


@dataclass(frozen=True, slots=True)
class ObjectSet:
    """Objects of one family in the order in which they must exist."""

    drafts: tuple[Draft, ...]
    """The objects with the sources of their values."""

    @property
    def manifests(self) -> list[Manifest]:
        """The objects."""
        return [draft.manifest for draft in self.drafts]


@dataclass(frozen=True, slots=True)
class GpuLayerObjects(ObjectSet):
    """The GPU layer; without objects when it is installed already."""

    check: str = ""
    """``namespace/name`` of the ConfigMap of an installed layer that must have the classes as keys; empty = nothing to look at."""
    classes: dict[str, str] = field(default_factory=dict)
    """Class of plugin config by pool, for pools that share their cards."""


@dataclass(frozen=True, slots=True)
class NodePoolObjects(ObjectSet):
    """One pool: partial Nodes to apply onto existing ones, or a NodePool."""

    name: str
    """Name of the pool."""
    intent: PoolIntent | None = None
    """For the managed backend: what the cloud's pool must make true."""


@dataclass(frozen=True, slots=True)
class TenantObjects(ObjectSet):
    """One tenant: namespace, quota and limits."""

    name: str
    """Name of the tenant."""


@dataclass(frozen=True, slots=True)
class WorkspaceObjects(ObjectSet):
    """The namespace, when this stack makes it, and what must exist in it before any store."""

    name: str
    """Name of the namespace."""
    keep: Keep
    """What a destroy does with the namespace: no less than with the claims in it, which would go with it."""

    @property
    def namespace(self) -> Manifest | None:
        """The Namespace; None when somebody else makes it."""
        return next((made for made in self.manifests if made["kind"] == "Namespace"), None)


@dataclass(frozen=True, slots=True)
class StoreObjects(ObjectSet):
    """One store: StorageClass, volumes and claim, then the Jobs that fill it; servers start when they are done."""

    name: str
    """Name of the store."""
    keep: Keep
    """What a destroy does with the volumes."""
    job_timeout: int = DEADLINE
    """Seconds that Pulumi waits for a Job."""

    @property
    def volumes(self) -> list[Manifest]:
        """All but the Jobs."""
        return [made for made in self.manifests if made["kind"] != "Job"]

    @property
    def jobs(self) -> list[Manifest]:
        """The Jobs."""
        return [made for made in self.manifests if made["kind"] == "Job"]


@dataclass(frozen=True, slots=True)
class ServerObjects(ObjectSet):
    """The objects of one server and how they are awaited."""

    name: str
    """Name of the server."""
    needs: tuple[str, ...]
    """Stores that must be filled before it starts."""
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


@dataclass(frozen=True, slots=True)
class StackObjects:
    """Everything that a stack makes, in the order in which it must exist. Render and program both go through it."""

    priorities: ObjectSet
    gpu_layer: GpuLayerObjects
    pools: tuple[NodePoolObjects, ...]
    tenants: tuple[TenantObjects, ...]
    workspace: WorkspaceObjects | None
    """None for a platform stack."""
    stores: tuple[StoreObjects, ...]
    servers: tuple[ServerObjects, ...]

    def sets(self) -> Iterator[ObjectSet]:
        """The families in order."""
        yield from (self.priorities, self.gpu_layer, *self.pools, *self.tenants)
        yield from () if self.workspace is None else (self.workspace,)
        yield from (*self.stores, *self.servers)

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """All objects with the sources of their values."""
        return tuple(draft for each in self.sets() for draft in each.drafts)


def stack_objects(config: ClusterConfig, plan: ClusterPlan) -> StackObjects:
    """All objects of the stack, by family."""
    platform, serving = config.scope is not Scope.SERVING, config.scope is not Scope.PLATFORM
    stores = {store.name: store for store in config.stores}
    return StackObjects(
        priorities=ObjectSet(drafts("platform.priority_classes", priority_objects(config, plan.stack) if platform else ())),
        gpu_layer=gpu_layer(config, plan.stack) if platform else GpuLayerObjects(()),
        pools=tuple(node_pool(config, plan.stack, index) for index in range(len(config.pools))) if platform else (),
        tenants=tuple(tenant(config, plan.stack, index) for index in range(len(config.tenants))) if platform else (),
        workspace=workspace(config, plan.stack) if serving else None,
        stores=tuple(store_bundle(config, plan.stack, index) for index in range(len(config.stores))) if serving else (),
        servers=tuple(server_bundle(plan, server, stores) for server in plan.servers) if serving else (),
    )


def drafts(owner: str, objects: Iterable[Manifest]) -> tuple[Draft, ...]:
    """Objects of one part of the config, whose parts have no closer source."""
    return tuple(finished(made, owner, whole=True) for made in objects)


def gpu_layer(config: ClusterConfig, stack: str) -> GpuLayerObjects:
    """The GPU layer of the stack."""
    layer = config.platform.gpu_layer
    watched = layer.kind is GpuLayerKind.INSTALLED and layer.config_map is not None
    return GpuLayerObjects(
        (*drafts("platform.gpu_layer", device_plugin_objects(config, stack)), *drafts("platform.gpu_layer", mig_objects(config, stack))),
        check=f"{layer.home}/{layer.config_map}" if watched else "",
        classes={pool.name: plugin_class(pool) for pool in plugin_pools(config) if pool.share.kind is not Sharing.EXCLUSIVE},
    )


def missing_classes(layer: GpuLayerObjects, keys: frozenset[str]) -> list[str]:
    """What is wrong with the config map of an installed layer: one sentence per pool whose class is not a key of it."""
    there = ", ".join(sorted(keys)) or "none"
    return [
        f"pool {pool} needs the plugin config {name!r}, which is not a key of ConfigMap {layer.check}; it has {there}"
        for pool, name in layer.classes.items()
        if name not in keys
    ]


def node_pool(config: ClusterConfig, stack: str, index: int) -> NodePoolObjects:
    """The objects of ``config.pools[index]``."""
    pool = config.pools[index]
    intent = pool_intent(pool) if pool.backend is PoolBackend.MANAGED else None
    return NodePoolObjects(drafts(f"pools[{index}]", pool_objects(pool, stack)), name=pool.name, intent=intent)


def tenant(config: ClusterConfig, stack: str, index: int) -> TenantObjects:
    """The objects of ``config.tenants[index]``."""
    made = config.tenants[index]
    return TenantObjects(drafts(f"tenants[{index}]", tenant_objects(config, made, stack)), name=made.name)


def workspace(config: ClusterConfig, stack: str) -> WorkspaceObjects:
    """The namespace of ``stack``, and the program that its stores' Jobs and copies run."""
    made = [namespace_object(config, stack)] if config.create_namespace else []
    made += [script_map(stack, config.namespace)] if needs_program(config) else []
    return WorkspaceObjects(drafts("namespace", made), name=config.namespace, keep=namespace_keep(config))


def namespace_keep(config: ClusterConfig) -> Keep:
    """What a destroy does with the namespace: what it does with the claims in it, since they would go with it."""
    found = {keep(store, config.production) for store in config.stores if objects_for(store, "stack", config.namespace)}
    return next((level for level in (Keep.PROTECT, Keep.RETAIN) if level in found), Keep.DELETE)


def store_bundle(config: ClusterConfig, stack: str, index: int) -> StoreObjects:
    """The objects of ``config.stores[index]``."""
    store = config.stores[index]
    made = [*objects_for(store, stack, put(config.namespace, "namespace")), *prefetch_objects(config, store, stack)]
    return StoreObjects(drafts(f"stores[{index}]", made), name=store.name, keep=keep(store, config.production))


def server_bundle(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig]) -> ServerObjects:
    """The objects of ``server``."""
    return ServerObjects(
        tuple(server_objects(plan, server, stores)),
        name=server.name,
        needs=tuple(name for name in (server.config.weights, server.config.compile_cache) if name),
        update_timeout=server.times.update_timeout,
        delete_timeout=server.times.grace + DELETE_MARGIN,
        url=internal_url(server),
    )


def internal_url(server: PlannedServer) -> str:
    """Base URL inside the cluster."""
    return f"http://{server.name}.{server.namespace}.svc.cluster.local/v1"
