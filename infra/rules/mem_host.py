"""Memory of the pod: shared memory between the ranks, and what the weights need on their way to the card."""

import math
import re
from collections.abc import Iterable

from interlock.infra.catalog.versions import since
from interlock.infra.facts import Bundle, Container, Fact, Place, Pod, Volume, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.checkpoint import weights
from interlock.infra.rules.reading.units import COUNTED_VENDORS, counted, engine_containers, pod_count, size_of, where
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.sizing.host import loading_memory
from interlock.infra.values import GIB, MIB, bytes_of, gib, plural


def _shm(pod: Pod, container: Container) -> Volume | None:
    mounted = {mount.volume for mount in container.mounts if mount.mount_path.rstrip("/") == "/dev/shm"}
    return next((volume for volume in pod.volumes if volume.name in mounted), None)


def _mounted(container: Container) -> bool:
    # A path that cannot be read may be any.
    return any(mount.mount_path.rstrip("/") in ("/dev/shm", "") for mount in container.mounts)


def _ranks_here(workload: Workload, container: Container) -> int | None:
    """Ranks of the engine in one pod; None when it cannot be told."""
    units = counted(container)
    engine = workload.engine
    sizes = [size_of(workload, fact) for fact in (engine.tensor_parallel, engine.pipeline_parallel, engine.data_parallel)]
    if not all(size.known for size in sizes):
        return 1 if units is not None and units.count.value == 1 else None
    whole = len(workload.pods) == 1
    world = math.prod(size.get() for size in sizes) if whole else None
    if units is not None and units.count.known:
        # Cards beyond the engine's ranks (or shares of one card) carry no rank.
        return int(units.count.get()) if world is None else min(int(units.count.get()), world)
    return world


@rule(
    "MEM-010",
    Severity.ERROR,
    demand="Several ranks in a pod have a memory volume at /dev/shm.",
    reason="NCCL and the engine's own queues use shared memory; the runtime's default of 64 MiB is too small: bus error or a hang.",
    source="vLLM documentation, 'Using Kubernetes' (dshm volume); vllm-project/production-stack#44",
    remedy="Mount an emptyDir of medium Memory at /dev/shm.",
    fault="shm-missing",
    links=("https://docs.vllm.ai/en/latest/deployment/k8s/",),
    settings={"least_bytes": 2**29},
)
def shared_memory(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if "shm" in workload.operator_adds or (workload.vendor.known and workload.vendor.get() not in COUNTED_VENDORS):
        return
    for pod, container in engine_containers(workload):
        volume, ranks = _shm(pod, container), _ranks_here(workload, container)
        remedy = "add an emptyDir with medium Memory and mount it at /dev/shm"
        path, also = where(workload, Place.VOLUMES), ((None, f"{container.path}.volumeMounts"),)
        if volume is not None and volume.kind == "emptyDir" and volume.medium not in ("Memory", "HugePages"):
            text = "the emptyDir at /dev/shm lies on the node's disk (no medium: Memory)"
            medium = f"{volume.path}.emptyDir.medium"
            fixes, level = put(medium, "Memory"), Severity.WARNING
            yield Hit(volume.path, text, "set medium: Memory", severity=level, fixes=fixes, also=((None, medium),))
        if volume is not None and volume.size_limit.known and (ranks or 0) > 1 and volume.size_limit.get() < int(settings["least_bytes"]):
            text = f"/dev/shm of {gib(volume.size_limit.get())} for {ranks} ranks: the engine's queues and NCCL need more"
            tiny = volume.size_limit.get() <= 2**27
            level = Severity.ERROR if tiny else Severity.WARNING
            yield Hit(
                volume.size_limit.path,
                text,
                "set sizeLimit to 2Gi or more",
                gib(volume.size_limit.get()),
                severity=level,
                fixes=put(volume.size_limit.path, "2Gi"),
            )
        if _mounted(container) or pod.host_ipc or ranks is None:
            continue
        spare = next(
            (each for each in pod.volumes if each.medium == "Memory" and each.name not in {m.volume for m in container.mounts}), None
        )
        if spare is not None:
            remedy = f"mount the volume {spare.name} at /dev/shm"
        if ranks > 1:
            text = f"{ranks} ranks in one pod share the container's default /dev/shm of 64 MiB"
            yield Hit(path, text, remedy, str(ranks), also=also)
        elif ranks == 1:
            text = "no memory volume at /dev/shm: one rank works, several would not"
            yield Hit(path, text, remedy, severity=Severity.INFO, detail="Advice: harmless with one GPU in the pod.", also=also)


@rule(
    "MEM-011",
    Severity.WARNING,
    demand="Shared memory fits the container's memory limit.",
    reason="What is written to it counts as the container's memory: it is killed before the volume is full.",
    source="Kubernetes documentation, 'Volumes' (emptyDir, medium Memory)",
    remedy="Raise the memory limit or lower sizeLimit.",
    fault="shm-exceeds-memory-limit",
    links=("https://kubernetes.io/docs/concepts/storage/volumes/#emptydir",),
)
def shared_memory_limit(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod, container in engine_containers(workload):
        volume, limit = _shm(pod, container), container.limits.get("memory", Fact()).map(bytes_of)
        if volume and volume.size_limit.known and limit.known and volume.size_limit.get() > limit.get():
            text = f"/dev/shm may grow to {gib(volume.size_limit.get())}, but the container may use {gib(limit.get())} in all"
            remedy = f"raise the memory limit above {gib(volume.size_limit.get())}, or lower sizeLimit"
            place, also = volume.size_limit.path or volume.path, ((None, limit.path),)
            yield Hit(place, text, remedy, gib(volume.size_limit.get()), also=also)


@rule(
    "MEM-012",
    Severity.ERROR,
    demand="The container's memory limit is not far below the weights that pass through it.",
    reason="Loading pins or copies the shards in host memory: the container is OOMKilled, or pages until the probe gives up.",
    source="vllm-project/vllm#28923; vllm/model_executor/model_loader",
    remedy="Raise the memory limit.",
    fault="memory-too-small",
    settings={"far": 0.3, "tight": 0.6},
)
def weights_pass_through(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    size = weights(workload)
    if size is None or workload.vendor.value == "cpu":
        return
    pods = sum(pod_count(pod).value or 1 for pod in workload.pods if any(counted(c) for c in pod.containers)) or 1
    for pod, container in engine_containers(workload):
        if len(workload.pods) > 1 and not any(counted(each) for each in pod.containers):
            continue  # No rank runs there (the head of a Ray cluster, a leader that only routes).
        limit = container.limits.get("memory", Fact()).map(bytes_of)
        share = size.likely / pods
        need = loading_memory(share, _ranks_here(workload, container) or 1, far=float(settings["far"]), tight=float(settings["tight"]))
        if not limit.known or limit.get() >= need.tight:
            continue
        level = Severity.ERROR if limit.get() < need.far else Severity.WARNING
        what = f"{gib(share)} of weights pass through it ({size.origin})"
        if limit.get() > share:
            what = f"the engine's processes hold about {gib(need.processes)} before any weights ({gib(share)} here)"
        text = f"the container may use {gib(limit.get())}, but {what}"
        remedy = f"raise the memory limit to {gib(need.ample)} (the processes, and memory to read the weights through)"
        yield Hit(limit.path, text, remedy, gib(limit.get()), severity=level)


@rule(
    "MEM-013",
    Severity.ERROR,
    demand="Host memory that the engine is told to use is within the container's limit, and within /dev/shm where it lies there.",
    reason="The engine pins it at start and is killed, or stops because /dev/shm is too small.",
    source="vllm/config/cache.py (cpu_offload_gb: GiB per GPU; weights, not KV; kv_offloading_size); vllm/v1/kv_offload/cpu",
    remedy="Raise the memory limit.",
    fault="memory-too-small",
)
def offload(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    tp = size_of(workload, workload.engine.tensor_parallel)
    for name, per_rank in (("cpu-offload-gb", True), ("swap-space", True), ("kv-offloading-size", False)):
        flag = workload.engine.flag(name)
        asked = flag.map(float)
        if not asked.known or asked.get() <= 0 or not tp.known:
            continue
        need = asked.get() * (tp.get() if per_rank else 1) * GIB
        for _, container in engine_containers(workload):
            limit = container.limits.get("memory", Fact()).map(bytes_of)
            if limit.known and need >= limit.get():
                ranks = f" x {plural(tp.get(), 'rank')}" if per_rank else ""
                text = f"--{name} {asked.get():g} GiB{ranks} = {gib(need)} of host memory, but the container may use {gib(limit.get())}"
                yield Hit(where(workload, Place.ARGS, flag), text, f"raise the memory limit above {gib(need)}", flag.get())
    yield from _blocks_in_shm(workload)


def _blocks_in_shm(workload: Workload) -> Iterable[Hit]:
    """KV blocks kept in the host by vLLM's own backend: a file in /dev/shm of each engine, whose room is checked at start."""
    engine, version = workload.engine, workload.engine.release
    asked, backend = engine.flag("kv-offloading-size").map(float), engine.flag("kv-offloading-backend")
    if version is None or not since("kv_offload_in_shm", version) or not asked.known or "shm" in workload.operator_adds:
        return
    if not (backend.absent or (backend.known and backend.get() == "native")):
        return
    if workload.vendor.known and workload.vendor.get() not in COUNTED_VENDORS:
        return
    for pod, container in engine_containers(workload):
        volume = _shm(pod, container)
        limit = volume.size_limit if volume else Fact()
        room = limit.get() if limit.known else None if pod.host_ipc or _mounted(container) else 64 * MIB
        if room is not None and asked.get() * GIB > room:
            text = f"--kv-offloading-size {asked.get():g} GiB lies in /dev/shm, which has {gib(room)}: the engine stops at start"
            remedy = f"give /dev/shm (emptyDir, medium Memory) {math.ceil(asked.get()) + 1}Gi, and the memory limit as much more"
            yield Hit(limit.path or where(workload, Place.ARGS, asked), text, remedy, gib(room))


@rule(
    "MEM-014",
    Severity.ERROR,
    demand="Memory quantities have their unit.",
    reason="A bare number is bytes, and m is a thousandth of one: the container cannot start.",
    source="Kubernetes documentation, 'Resource Management for Pods and Containers' (meaning of memory)",
    remedy="Write the unit (Gi).",
    fault="memory-too-small",
    links=("https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-memory",),
)
def unreadable_limit(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod in workload.pods:
        for container in pod.containers:
            for kind, stated in (("limits", container.limits), ("requests", container.requests)):
                fact = stated.get("memory", Fact())
                if fact.known and re.fullmatch(r"\d+(\.\d+)?m?", fact.get()) and _tiny(fact.get()):
                    text = f"memory {fact.get()} is {fact.get()} bytes: a unit is missing (Gi)"
                    yield Hit(
                        fact.path or f"{container.path}.resources.{kind}",
                        text,
                        f"write {fact.get().rstrip('m')}Gi",
                        fact.get(),
                        fixes=put(fact.path, f"{fact.get().rstrip('m')}Gi"),
                    )


def _tiny(text: str) -> bool:
    return text.endswith("m") or float(text) < 1024 * 1024
