"""Communication between ranks."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import engine_containers, pod_count, pod_units, size_of, where
from interlock.infra.rules.rule import Hit, Settings, rule

_RDMA = ("rdma/", "efa", "infiniband", "roce", "hca", "mellanox", "sriov")
_NAMES = ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_NET", "NCCL_NET_PLUGIN", "FI_PROVIDER")


def _holding(workload: Workload) -> int:
    """Pods of one replica that hold GPUs, at least."""
    return sum(pod_count(pod).value or 1 for pod in workload.pods if (pod_units(workload, pod).value or 0) > 0)


def _set(workload: Workload, name: str) -> Fact[str]:
    own = workload.engine.env.get(name, Fact())
    return next((c.env[name] for _, c in engine_containers(workload) if name in c.env), own)


def _fabric(workload: Workload) -> bool:
    """RDMA devices or the host's own network."""
    names = [name for pod in workload.pods for c in pod.containers for name in (*c.limits, *c.requests)]
    return any(mark in name for name in names for mark in _RDMA) or any(pod.host_network for pod in workload.pods)


@rule(
    "GPU-021",
    Severity.WARNING,
    demand="Ranks on several pods have a way to each other that NCCL finds.",
    reason="NCCL picks the first interface it sees; over plain sockets it is slow, and on the wrong one it hangs without a message.",
    source="NVIDIA NCCL documentation, environment variables; vllm-project/vllm#11139, Project-HAMi/HAMi-core#261",
    remedy="Name the interface, open all ports between the pods, use RDMA.",
    links=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",),
)
def between_pods(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    tp, pp = (size_of(workload, size) for size in (workload.engine.tensor_parallel, workload.engine.pipeline_parallel))
    each = max((pod_units(workload, pod).value or 0 for pod in workload.pods), default=0)
    spans = tp.known and pp.known and tp.get() * pp.get() > max(each, 1) and _holding(workload) > 1
    chosen = _set(workload, "NCCL_SOCKET_IFNAME")
    if spans and chosen.known and chosen.get() == "lo":
        text = "NCCL_SOCKET_IFNAME=lo, but the ranks are in several pods"
        yield Hit(chosen.path, text, "name the pod's interface (eth0)", "lo")
    elif spans and workload.ray is None and not _fabric(workload) and not any(not _set(workload, name).absent for name in _NAMES):
        text = "ranks in several pods talk over TCP sockets, and no interface is named"
        yield Hit(where(workload, Place.ENV), text, "set NCCL_SOCKET_IFNAME to the pod's interface and open all ports between the pods")


@rule(
    "GPU-022",
    Severity.WARNING,
    demand="Ranks that talk to each other do not sit behind a library that shares cards.",
    reason="Such libraries intercept CUDA calls; ranks were seen to wait for each other and never finish.",
    source="Project-HAMi/HAMi-core#261",
    remedy="Give engines with TP > 1 whole cards.",
)
def behind_sharing(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    tp = size_of(workload, workload.engine.tensor_parallel)
    pool = bundle.pool(workload)
    named = [name for _, c in engine_containers(workload) for name in (*c.limits, *c.requests) if "vgpu" in name or "gpumem" in name]
    hami = pool is not None and pool.sharing.known and pool.sharing.get().lower() in ("hami", "vgpu", "hami-core")
    if tp.known and tp.get() > 1 and (named or hami):
        text = f"{tp.get()} ranks on cards that a sharing library divides: such ranks were seen to hang, each waiting for the others"
        yield Hit(where(workload, Place.GPUS), text, "use whole cards for TP > 1", str(tp.get()))
