"""The pod template of a server."""

from collections.abc import Mapping
from typing import Any

from interlock.infra.config.pools import Allocation, PoolBackend, Sharing
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import StoreConfig
from interlock.infra.config.taints import taint
from interlock.infra.manifests.access import access_mount, access_volume
from interlock.infra.manifests.adapters import adapters_mount, adapters_volume
from interlock.infra.manifests.command_line import arguments
from interlock.infra.manifests.common import labels, selector
from interlock.infra.manifests.dra import CLAIM, claim_name
from interlock.infra.manifests.monitoring import scrape_annotations
from interlock.infra.manifests.node_pools import DO_NOT_DISRUPT
from interlock.infra.manifests.placed import bare, merged, put, traced
from interlock.infra.manifests.ray_container import RAY, ray_environment, ray_lifecycle
from interlock.infra.manifests.runtime import needs_archive, runtime_mount, runtime_volume
from interlock.infra.manifests.stores import HOST_NAME, PodStorage, pod_storage
from interlock.infra.manifests.supervised import liveness, probe_grace, run_command, supervised
from interlock.infra.naming import ENGINE, label
from interlock.infra.plan.ray_flows import METRICS
from interlock.infra.plan.servers import CACHE_DIR, hot
from interlock.infra.plan.types import ClusterPlan, PlannedPods, PlannedPool, PlannedServer, PodRole
from interlock.infra.values import binary

ROLE = label("role")
"""Label of the pods of a replica of several: leader or worker."""
USER = 2000
"""UID of the stock image's ``vllm`` user."""
RAY_USER = 1000
"""UID of the Ray images' ``ray`` user."""
PROBE_PERIOD = 10
ZONE = "topology.kubernetes.io/zone"
DISK = "ephemeral-storage"


def pod_template(plan: ClusterPlan, server: PlannedServer, stores: Mapping[str, StoreConfig], pods: PlannedPods) -> dict[str, Any]:
    """Metadata and spec of the server's ``pods``, the user's patch merged last."""
    config, pool, grace = server.config, plan.pool(server.pool), server.times.grace
    pool_at = f"pools[{pool.index}]"
    storage = pod_storage(config, server, stores, pool.gpu)
    tolerations = [put(taint(text).toleration, f"{pool_at}.taints[{at}]") for at, text in enumerate(pool.taints)]
    shm = put({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": server.shm}}, "shm", "shm")
    spec: dict[str, Any] = {
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": put(grace, "rollout.drain_seconds", "drain", plus=grace - server.times.drain),
        "nodeSelector": {key: put(value, "pool" if key == label("pool") else f"{pool_at}.labels") for key, value in pool.selector.items()},
        "tolerations": [*tolerations, *traced(config.extra.tolerations, "extra.tolerations")],
        "securityContext": pod_security(user_of(server)),
        "volumes": [
            *([shm] if own_shm(pool) else []),
            put({"name": "cache", "emptyDir": bounded(server.scratch.cache)}, "model", "scratch"),
            {"name": "tmp", "emptyDir": bounded(server.scratch.temporary)},
            *([runtime_volume(plan.stack)] if needs_archive(server, stores) else []),
            *(changing_volumes(server) if takes_requests(server, pods) else []),
            *storage.volumes,
        ],
        "containers": [engine_container(plan, server, pool, storage, pods)],
        **{key: put(value, "weights", "stores") for key, value in storage.pod.items()},
    }
    if server.spread:
        spec["topologySpreadConstraints"] = put(spread_constraints(plan, server), "replicas", "spread")
    if pool.allocation == Allocation.CLAIM.value:
        claim = {"name": CLAIM, "resourceClaimTemplateName": claim_name(pool, server)}
        spec["resourceClaims"] = [put(claim, "gpus", "claim")]
    if config.priority_class:
        spec["priorityClassName"] = put(plan.priority_classes.get(config.priority_class, config.priority_class), "priority_class")
    spec |= identity(config)
    patched = merged(spec, config.extra.pod_patch, "extra.pod_patch")
    whole = supervised(patched, ENGINE, server, pool, pods) if server.supervised else patched
    return {"metadata": pod_metadata(plan, server, pool, pods), "spec": whole}


def changing_volumes(server: PlannedServer) -> list[Any]:
    """Files that an API server reads again while it runs: tenants, and adapters."""
    tenants = [access_volume(server.access)] if server.access else []
    return [*tenants, *([adapters_volume(server)] if hot(server.config) else [])]


def pod_metadata(plan: ClusterPlan, server: PlannedServer, pool: PlannedPool, pods: PlannedPods) -> dict[str, Any]:
    """Labels and annotations of the pods."""
    # Karpenter gives back a node under a serving pod otherwise.
    disruption = {DO_NOT_DISRUPT: put("true", f"pools[{pool.index}].backend")} if pool.backend == PoolBackend.KARPENTER.value else {}
    model = put(server.model_id, "model.id")
    role = {} if pods.role is PodRole.SERVER else {ROLE: put(pods.role.value, "nodes", "layout")}
    if server.ray:
        role = {RAY: put(server.ray.service, "ray_service" if server.config.ray_service else "name"), ROLE: PodRole.WORKER.value}
    scraped = scrape_annotations(server) if takes_requests(server, pods) else {}
    return {
        "labels": {**labels(plan.stack, server.name), label("pool"): put(server.pool, "pool"), **role},
        "annotations": {label("model"): model, **disruption, **scraped, **traced(server.config.extra.annotations, "extra.annotations")},
    }


def identity(config: ServerConfig) -> dict[str, Any]:
    """Who the pods are to a cloud, and to the registry of their image."""
    account = {"serviceAccountName": put(config.service_account, "service_account")} if config.service_account else {}
    secrets = [{"name": put(name, f"image.pull_secrets[{at}]")} for at, name in enumerate(config.image.pull_secrets)]
    return account | ({"imagePullSecrets": secrets} if secrets else {})


def own_shm(pool: PlannedPool) -> bool:
    """Whether the pod brings its own /dev/shm: with MPS the device plugin mounts the daemon's there, by which both talk."""
    return pool.sharing != Sharing.MPS.value


def bounded(size: int | None) -> dict[str, Any]:
    """An emptyDir of at most ``size`` bytes."""
    return {} if size is None else {"sizeLimit": binary(size)}


def spread_constraints(plan: ClusterPlan, server: PlannedServer) -> list[dict[str, Any]]:
    """A preference for other zones and nodes, counted among the pods of one revision: a rollout's old pods do not push the new ones."""
    own = {name: bare(value) for name, value in selector(plan.stack, server.name).items()}
    chosen = {"labelSelector": {"matchLabels": own}, "matchLabelKeys": ["pod-template-hash"]}
    keys = [key for key in (ZONE, HOST_NAME) if key not in plan.pool(server.pool).selector]
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", **chosen} for key in keys]


def user_of(server: PlannedServer) -> int:
    """UID of the image's own user."""
    return RAY_USER if server.ray else USER


def pod_security(user: int) -> dict[str, Any]:
    """Pod Security ``restricted``."""
    return {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": user,
        "fsGroup": user,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def engine_container(plan: ClusterPlan, server: PlannedServer, pool: PlannedPool, storage: PodStorage, pods: PlannedPods) -> dict[str, Any]:
    """The engine's container in ``pods``. A worker without an API server has no port and no probe: its end ends the whole replica."""
    serves = takes_requests(server, pods)
    image = server.config.image
    return {
        "name": ENGINE,
        "image": put(server.image, "image.reference", "image"),
        "imagePullPolicy": put(image.pull_policy or "IfNotPresent", "image.pull_policy"),
        # In a Ray cluster KubeRay adds the command and the probes.
        **({} if server.ray else started(server, pods)),
        "env": [*environment(plan, server), *storage.env],
        **ports(server, serves=serves),
        "resources": resources(server, pool, pods),
        **(probes(server) if serves and not server.ray else {}),
        "lifecycle": at_end(server, serves=serves),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            *([{"name": "shm", "mountPath": "/dev/shm"}] if own_shm(pool) else []),
            {"name": "cache", "mountPath": CACHE_DIR},
            {"name": "tmp", "mountPath": "/tmp"},
            *([runtime_mount()] if server.supervised else []),
            *([access_mount()] if server.access and serves else []),
            *([adapters_mount()] if hot(server.config) and serves else []),
            *storage.mounts,
        ],
    }


def ports(server: PlannedServer, *, serves: bool) -> dict[str, Any]:
    """Where the container listens: for requests, and for the other side of a prefill/decode pair."""
    if server.ray:
        return {"ports": [{"name": "metrics", "containerPort": METRICS, "protocol": "TCP"}]}
    listed: list[Any] = [{"name": "http", "containerPort": server.args.port, "protocol": "TCP"}] if serves else []
    pair = server.config.transfer
    for rank in range(server.args.engine.dp if pair else 0):
        port = put(pair.port + rank, "transfer.port", "kv_transfer_config") if pair else 0
        listed.append({"name": f"kv-{rank}", "containerPort": port, "protocol": "TCP"})
    return {"ports": listed} if listed else {}


def started(server: PlannedServer, pods: PlannedPods) -> dict[str, Any]:
    """Command and args: the engine's own command line stands in the args when a supervisor starts it."""
    line = [put(word, "image.track") for word in server.command]
    if not server.supervised:
        return {"command": line, "args": arguments(server, pods)}
    return {"command": put(run_command(), "runtime", "runtime"), "args": [*line, *arguments(server, pods)]}


def takes_requests(server: PlannedServer, pods: PlannedPods) -> bool:
    """Whether these pods have an API server."""
    group = server.args.group
    return pods.role is not PodRole.WORKER or group is None or not group.headless


def at_end(server: PlannedServer, *, serves: bool) -> dict[str, Any]:
    """What happens before the container is told to stop."""
    if server.ray:
        return ray_lifecycle(server.times.deregistration, put(server.times.drain, "rollout.drain_seconds", "drain"))
    return {"preStop": {"sleep": {"seconds": wait_at_end(server, serves=serves)}}}


def wait_at_end(server: PlannedServer, *, serves: bool) -> Any:
    """Seconds before the container is told to stop. A worker outlives the requests that its leader still answers: by its supervisor,
    which waits for the leader, or else here."""
    wait = server.times.deregistration
    if serves or server.supervised:
        return wait
    return put(wait + server.times.drain, "rollout.drain_seconds", "drain", plus=wait)


def resources(server: PlannedServer, pool: PlannedPool, pods: PlannedPods) -> dict[str, Any]:
    """Requests and limits: GPUs as units of the pool's resource, or by claim."""
    memory, disk = put(server.memory, "memory", "memory"), server.scratch
    by_claim = pool.allocation == Allocation.CLAIM.value
    units = {} if by_claim else {pool.resource: put(str(pods.gpus), "gpus", "gpus")}
    most = {} if disk.limit is None else {DISK: put(binary(disk.limit), "model", "scratch")}
    claims = [put({"name": CLAIM}, f"pools[{pool.index}].allocation")]
    return {
        "requests": {"cpu": put(server.cpu, "cpu", "cpu"), "memory": memory, DISK: put(binary(disk.request), "model", "scratch"), **units},
        "limits": {"memory": memory, **most, **units},
        **({"claims": claims} if by_claim else {}),
    }


def environment(plan: ClusterPlan, server: PlannedServer) -> list[dict[str, Any]]:
    """Environment in a stable order; the hub token comes from an existing Secret."""
    # A UID that the image does not know has no name and no home: libraries that ask for either would crash.
    fixed = {"HOME": CACHE_DIR, "USER": "ray" if server.ray else "vllm"}
    config = server.config
    fields = {"VLLM_ENGINE_READY_TIMEOUT_S": ("startup_seconds", "startup")}
    fields |= {"HF_HUB_OFFLINE": ("weights", "")} if config.weights else {}
    fields |= {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": ("adapters.hot", "")} if hot(config) else {}
    fields |= dict.fromkeys(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"), ("nodes", "layout"))
    fields |= {name: (f"extra.env.{name}", "") for name in config.extra.env}
    env = [
        put({"name": name, "value": value}, *fields.get(name, ("image.track", ""))) for name, value in sorted((fixed | server.env).items())
    ]
    if config.hub_token_secret:
        secret = {"name": config.hub_token_secret, "key": "token"}
        env.append(put({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": secret}}, "hub_token_secret"))
    if server.ray:
        env += ray_environment(plan.ray_service(server.ray.service))
    if config.transfer:
        # The other side asks at the pod's own address: the engine would tell it to ask at localhost.
        own = {"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        env.append(put(own, "transfer", "kv_transfer_config"))
        env.append(put({"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": str(config.transfer.port)}, "transfer.port", "kv_transfer_config"))
    if server.nodes > 1:
        # The address by which ranks find this pod, where it has several networks.
        own = {"name": "VLLM_HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        env.append(put(own, "nodes", "layout"))
    return env


def probes(server: PlannedServer) -> dict[str, Any]:
    """Startup for the whole load time, readiness by HTTP, and liveness with a short grace of its own: by the supervisor's heartbeats, or
    a patient one where nothing supervises."""
    get = {"httpGet": {"path": "/health", "port": "http"}, "timeoutSeconds": 5}
    alive = {**get, "periodSeconds": PROBE_PERIOD, "failureThreshold": 6, "terminationGracePeriodSeconds": probe_grace(server)}
    tries = put(-(-server.times.startup // PROBE_PERIOD), "startup_seconds", "startup", times=PROBE_PERIOD)
    return {
        "startupProbe": {**get, "periodSeconds": PROBE_PERIOD, "failureThreshold": tries},
        "readinessProbe": {**get, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": liveness(server) if server.supervised else alive,
    }
