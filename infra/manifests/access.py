"""What a server's pods are told of tenants: a ConfigMap with nothing secret in it, and the mount of the keyed hashes.

Both change while the pods run: the engine reads them again, and nothing restarts. So their names are fixed and they are not immutable.
"""

from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.load import asks_for_keys
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest, server_manifest
from interlock.infra.manifests.placed import Encoded, put
from interlock.infra.naming import label
from interlock.infra.plan.access import key_secret, keys_secret
from interlock.infra.plan.holders import PlannedAccess, PlannedTenant
from interlock.infra.plan.types import ClusterPlan, PlannedServer

FOLDER = "/etc/interlock/access"
VOLUME = "access"
POLICY, KEYS = "access.json", "keys.json"


def access_map(plan: ClusterPlan, server: PlannedServer, access: PlannedAccess) -> Manifest:
    """The ConfigMap of a server."""
    adapters = {each.name for each in server.config.adapters.modules} if server.config.adapters else set[str]()
    names = [server.args.served_model_name, *sorted(adapters.union(*(each.models or () for each in access.tenants)))]
    policy = {
        "model": put(server.args.served_model_name, "served_name", "served_name"),
        "models": put(list(dict.fromkeys(names)), "access"),
        "capacity": put(access.capacity, "engine.max_num_seqs", "max_num_seqs"),
        "max_body_bytes": put(access.max_body_bytes, "access.max_body"),
        **({"transfers": put(True, "transfer")} if server.config.transfer else {}),
        **({"routes": put(list(access.routes), "access.routes")} if access.routes else {}),
        "tenants": put({each.name: tenant_policy(each) for each in access.tenants}, "access.tenants"),
    }
    made = server_manifest(plan, server, "v1", "ConfigMap", data={POLICY: Encoded(policy)})
    return {**made, "metadata": {**made["metadata"], "name": put(access.config_map, "name")}}


def tenant_policy(tenant: PlannedTenant) -> dict[str, Any]:
    """One tenant as the engine reads it; what is not limited is left out."""
    numbers = ("requests_per_minute", "tokens_per_minute", "concurrency", "expires")
    models = {} if tenant.models is None else {"models": list(tenant.models)}
    return {"class": tenant.tier, **models, **{name: value for name in numbers if (value := getattr(tenant, name))}}


def keys_objects(config: ClusterConfig, stack: str) -> list[Manifest]:
    """The Secret with the keyed hashes, and one with the key of each tenant; without their content, which is made when they are."""
    holders = config.access.tenants
    if not any(asks_for_keys(config, server) for server in config.servers):
        return []
    common = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack}
    hashes = manifest("v1", "Secret", keys_secret(stack), config.namespace, common, type="Opaque")
    own = [
        manifest("v1", "Secret", key_secret(stack, each.name), config.namespace, {**common, label("tenant"): each.name}, type="Opaque")
        for each in holders
    ]
    return [hashes, *own]


def access_volume(access: PlannedAccess) -> Any:
    """Both files in one folder, swapped together."""
    sources = [
        {"configMap": {"name": access.config_map}},
        {"secret": {"name": access.secret, "items": [{"key": KEYS, "path": KEYS}]}},
    ]
    return put({"name": VOLUME, "projected": {"sources": sources}}, "access")


def access_mount() -> Any:
    """Where the engine has it."""
    return put({"name": VOLUME, "mountPath": FOLDER, "readOnly": True}, "access")
