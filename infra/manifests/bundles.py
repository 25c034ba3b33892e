"""All objects of a plan in the order in which they must exist, family by family, as the components get them."""

from collections.abc import Iterable, Mapping

from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.config.conventions import Conventions
from interlock.infra.config.exposure import RouteConfig
from interlock.infra.config.platform import GpuLayerKind
from interlock.infra.config.pools import Allocation, PoolBackend, Sharing
from interlock.infra.config.ray import RayUpgrade
from interlock.infra.config.stores import Keep, StoreConfig, StoreKind
from interlock.infra.manifests.accounts import account_objects
from interlock.infra.manifests.common import selector
from interlock.infra.manifests.conventions import with_conventions
from interlock.infra.manifests.device_plugin import device_plugin_objects, plugin_pools
from interlock.infra.manifests.mig import mig_objects
from interlock.infra.manifests.namespace import namespace_object
from interlock.infra.manifests.network import store_policies
from interlock.infra.manifests.node_pools import pool_intent, pool_objects
from interlock.infra.manifests.placed import Draft, Manifest, bare, finished, put
from interlock.infra.manifests.prefetch import prefetch_objects
from interlock.infra.manifests.priority import priority_objects
from interlock.infra.manifests.quota import tenant_objects
from interlock.infra.manifests.ray import members, ray_objects, token_secret
from interlock.infra.manifests.ray_serve import PORT
from interlock.infra.manifests.runtime import needs_runtime, runtime_objects
from interlock.infra.manifests.servers import entrance, server_objects
from interlock.infra.manifests.sets import (
    GpuLayerObjects,
    NodePoolObjects,
    PriorityObjects,
    RayObjects,
    ServerObjects,
    StackObjects,
    StoreObjects,
    TenantObjects,
    WorkspaceObjects,
)
from interlock.infra.manifests.stores import objects_for
from interlock.infra.plan.pools import resource_name, shares_per_card
from interlock.infra.plan.ray_types import PlannedRayService
from interlock.infra.plan.shares import our_labels, plugin_class
from interlock.infra.plan.stores import claim_name, keep
from interlock.infra.plan.types import ClusterPlan, PlannedServer

UNCLAIMED = frozenset({StoreKind.HOST_PATH, StoreKind.NODE_SYNC, StoreKind.IMAGE, StoreKind.BUCKET})
"""Kinds of stores that pods mount without a claim."""
DELETE_MARGIN = 120
"""Seconds beyond the grace period that a deletion may take."""


def stack_objects(config: ClusterConfig, plan: ClusterPlan) -> StackObjects:
    """All objects of the stack, by family."""
    platform, serving = config.scope is not Scope.SERVING, config.scope is not Scope.PLATFORM
    stores = {store.name: store for store in config.stores}
    made = StackObjects(
        priorities=priorities(config, plan) if platform else PriorityObjects(()),
        gpu_layer=gpu_layer(config, plan.stack) if platform else GpuLayerObjects(()),
        pools=tuple(node_pool(config, plan.stack, index) for index in range(len(config.pools))) if platform else (),
        tenants=tuple(tenant(config, plan.stack, index) for index in range(len(config.tenants))) if platform else (),
        workspace=workspace(config, plan) if serving else None,
        stores=tuple(store_bundle(config, plan.stack, index) for index in range(len(config.stores))) if serving else (),
        servers=_in_order(server_bundle(plan, server, stores) for server in plan.servers if not server.ray) if serving else (),
        rays=tuple(ray_bundle(plan, service, stores) for service in plan.ray_services) if serving else (),
    )
    return made if config.conventions == Conventions() else made.changed(lambda draft: with_conventions(config, draft))


def _in_order(servers: Iterable[ServerObjects]) -> tuple[ServerObjects, ...]:
    """Those last whose routes give requests to others, which have none of the kind."""
    return tuple(sorted(servers, key=lambda each: bool(each.after)))


def drafts(owner: str, objects: Iterable[Manifest]) -> tuple[Draft, ...]:
    """Objects of one part of the config, whose parts have no closer source."""
    return tuple(finished(made, owner, whole=True) for made in objects)


def priorities(config: ClusterConfig, plan: ClusterPlan) -> PriorityObjects:
    """The priority classes of the stack."""
    return PriorityObjects(drafts("platform.priority_classes", priority_objects(config, plan.stack)), names=plan.priority_classes)


def gpu_layer(config: ClusterConfig, stack: str) -> GpuLayerObjects:
    """The GPU layer of the stack."""
    layer = config.platform.gpu_layer
    watched = layer.kind is GpuLayerKind.INSTALLED and layer.config_map is not None
    return GpuLayerObjects(
        drafts("platform.gpu_layer", (*device_plugin_objects(config, stack), *mig_objects(config, stack))),
        check=f"{layer.home}/{layer.config_map}" if watched else "",
        classes=shared_classes(config),
        namespace=layer.home,
        runtime_class=layer.runtime_class,
    )


def shared_classes(config: ClusterConfig) -> dict[str, str]:
    """Class of plugin config by pool, for pools that share their cards."""
    return {pool.name: plugin_class(pool) for pool in plugin_pools(config) if pool.share.kind is not Sharing.EXCLUSIVE}


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
    return NodePoolObjects(
        drafts(f"pools[{index}]", pool_objects(pool, stack)),
        name=pool.name,
        intent=intent,
        labels={**our_labels(pool), **pool.labels},
        taints=pool.taints,
        resource=resource_name(pool) if pool.allocation is Allocation.DEVICE_PLUGIN else "",
        units=pool.nodes * pool.gpus_per_node * shares_per_card(pool),
    )


def tenant(config: ClusterConfig, stack: str, index: int) -> TenantObjects:
    """The objects of ``config.tenants[index]``."""
    made = config.tenants[index]
    return TenantObjects(drafts(f"tenants[{index}]", tenant_objects(config, made, stack)), name=made.name)


def workspace(config: ClusterConfig, plan: ClusterPlan) -> WorkspaceObjects:
    """The namespace of the stack, and the runtime of its pods."""
    made = [namespace_object(config, plan.stack)] if config.create_namespace else []
    made += account_objects(config, plan.stack)
    made += runtime_objects(plan.stack, config.namespace) if needs_runtime(config, plan) else []
    return WorkspaceObjects(drafts("namespace", made), name=config.namespace, keep=namespace_keep(config))


def namespace_keep(config: ClusterConfig) -> Keep:
    """What a destroy does with the namespace: what it does with the claims in it, since they would go with it."""
    found = {keep(store, config.production) for store in config.stores if objects_for(store, "stack", config.namespace)}
    return next((level for level in (Keep.PROTECT, Keep.RETAIN) if level in found), Keep.DELETE)


def store_bundle(config: ClusterConfig, stack: str, index: int) -> StoreObjects:
    """The objects of ``config.stores[index]``."""
    store = config.stores[index]
    volumes = objects_for(store, stack, put(config.namespace, "namespace"))
    made = [*volumes, *store_policies(config, store, stack), *prefetch_objects(config, store, stack)]
    claimed = store.kind not in UNCLAIMED
    return StoreObjects(
        drafts(f"stores[{index}]", made),
        name=store.name,
        keep=keep(store, config.production),
        namespace=config.namespace,
        claim=claim_name(store) if claimed else "",
    )


def server_bundle(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig]) -> ServerObjects:
    """The objects of ``server``."""
    return ServerObjects(
        tuple(server_objects(plan, server, stores)),
        name=server.name,
        needs=tuple(name for name in (server.config.weights, server.config.compile_cache) if name),
        update_timeout=server.times.update_timeout,
        delete_timeout=server.times.grace + DELETE_MARGIN,
        url=internal_url(server),
        external_url=external_url(server.config.route) or "",
        namespace=server.namespace,
        model=server.args.served_model_name,
        gpus=server.gpus,
        port=server.args.port,
        selector={key: bare(value) for key, value in {**selector(plan.stack, server.name), **entrance(server)}.items()},
        secrets=secrets_of(server),
        after=tuple(name for name, share in server.config.route.split.items() if share) if server.config.route else (),
        first_replicas=server.replicas if server.config.autoscale else 0,
    )


def ray_bundle(plan: ClusterPlan, service: PlannedRayService, stores: Mapping[str, StoreConfig]) -> RayObjects:
    """The objects of ``service``."""
    servers = members(plan, service)
    wanted = [name for each in servers for name in (each.config.weights, each.config.compile_cache) if name]
    return RayObjects(
        tuple(ray_objects(plan, service, stores)),
        name=service.name,
        namespace=plan.namespace,
        url=internal_url(servers[0]),
        models={each.name: each.args.served_model_name for each in servers},
        gpus=sum(each.gpus * each.max_replicas for each in servers),
        needs=tuple(dict.fromkeys(wanted)),
        token=service.token_secret,
        secret=token_secret(plan, service) if service.own_token else None,
        recreate=service.upgrade is RayUpgrade.RECREATE,
        update_timeout=max(each.times.update_timeout for each in servers),
        delete_timeout=service.deletion_delay + service.grace + DELETE_MARGIN,
    )


def internal_url(server: PlannedServer) -> str:
    """Base URL inside the cluster."""
    if server.ray:
        return f"http://{server.ray.service}.{server.namespace}.svc.cluster.local:{PORT}/v1"
    return f"http://{server.name}.{server.namespace}.svc.cluster.local/v1"


def external_url(route: RouteConfig | None) -> str | None:
    """Base URL from outside."""
    if route is None:
        return None
    return f"{'https' if route.tls_secret else 'http'}://{route.host}{route.shown[0].rstrip('/')}"


def secrets_of(server: PlannedServer) -> dict[str, str]:
    """Names of Secrets by use, ``key/TENANT`` for a tenant's key; never their content."""
    config = server.config
    hub = {"hub_token": config.hub_token_secret} if config.hub_token_secret else {}
    tls = {"tls": config.route.tls_secret} if config.route and config.route.tls_secret else {}
    return {**hub, **tls, **({f"key/{each.name}": each.secret for each in server.access.tenants} if server.access else {})}
