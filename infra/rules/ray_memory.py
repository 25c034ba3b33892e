"""Memory of a Ray cluster's pods: the object store within shared memory, and a head that holds the cluster's state."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Container, Fact, Pod, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.ray import head_of
from interlock.infra.rules.reading.units import switched_on
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.values import bytes_of, gib

_KUBERAY = ("https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/config.html",)


def _shared(pod: Pod, container: Container) -> Fact[int]:
    """Bytes of /dev/shm: of the volume mounted there, else of the one that KubeRay makes as large as the container's memory."""
    mount = next((each for each in container.mounts if each.mount_path.rstrip("/") == "/dev/shm"), None)
    volume = next((each for each in pod.volumes if mount and each.name == mount.volume), None)
    memory = container.limits.get("memory", Fact()).map(bytes_of)
    return volume.size_limit if volume and volume.size_limit.known else memory if volume is None or volume.medium == "Memory" else Fact()


@rule(
    "RAY-015",
    Severity.ERROR,
    demand="Ray's object store fits the shared memory of its pod.",
    reason="Above 10 GB Ray refuses to start the node; below, it falls back to a file on disk, which is slow.",
    source="ray/_private/services.py determine_plasma_store_config; ray-project/kuberay#201",
    remedy="Lower object-store-memory, or leave it out.",
    fault="ray-object-store-too-large",
    links=_KUBERAY,
    settings={"refused_above": 10_000_000_000},
)
def object_store(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod in workload.pods if workload.ray else ():
        stated = workload.ray.start_params.get(pod.role, {}).get("object-store-memory", Fact()) if workload.ray else Fact()
        asked, container = stated.map(bytes_of), next(iter(pod.containers), None)
        shared = _shared(pod, container) if container else Fact()
        if container is None or not asked.known or not shared.known or asked.get() <= shared.get():
            continue
        slow = switched_on(container.env.get("RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE", Fact()))
        level = Severity.ERROR if asked.get() > int(settings["refused_above"]) and not slow else Severity.WARNING
        text = f"the object store of group {pod.role} is {gib(asked.get())}, but its /dev/shm has {gib(shared.get())}"
        fits = int(shared.get() * 0.3)
        remedy = f"set object-store-memory to {fits} or less, or leave it out (Ray takes 30 % of the memory)"
        yield Hit(stated.path, text, remedy, stated.get(), severity=level, fixes=put(stated.path, str(fits)))


@rule(
    "RAY-016",
    Severity.WARNING,
    demand="A Ray head has memory for the cluster's state.",
    reason="GCS, dashboard and agents run there; when the head is killed the cluster goes, and all engines with it.",
    source="docs.ray.io, 'RayCluster configuration' (8 GB for the head in production); ray-project/kuberay#2305 (2 GB was too little)",
    remedy="Give it 8Gi.",
    fault="memory-too-small",
    links=_KUBERAY,
    settings={"least_bytes": 2**31},
)
def head_memory(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    head = head_of(workload)
    container = next(iter(head.containers), None) if head and workload.ray else None
    limit = container.limits.get("memory", Fact()).map(bytes_of) if container else Fact()
    if limit.known and limit.get() <= int(settings["least_bytes"]):
        text = f"the head may use {gib(limit.get())}: GCS, dashboard and agents need more"
        yield Hit(limit.path, text, "set it to 8Gi", gib(limit.get()), fixes=put(limit.path, "8Gi"))
