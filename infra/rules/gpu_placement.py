"""Whether the pods of a workload may run on the nodes of its pool: what they select, and the taints that they tolerate."""

from collections.abc import Iterable, Iterator

from interlock.infra.catalog.gpus import Gpu, gpu
from interlock.infra.facts import Bundle, Fact, Pod, Pool, Workload
from interlock.infra.naming import label
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.ray import head_of
from interlock.infra.rules.reading.units import accelerators, pod_units, pool_text
from interlock.infra.rules.rule import Hit, Settings, rule

_POOL = label("pool")
_PRODUCT = "nvidia.com/gpu.product"
_ALIKE = 0.1
"""Two cards of one capability whose memory differs by no more are one card for a plan."""


@rule(
    "GPU-025",
    Severity.WARNING,
    demand="The pods of a workload may run on the nodes of its pool: their selector finds them, and their taints are tolerated.",
    reason="Otherwise the pods stay Pending, or land on nodes whose cards nothing here was planned for.",
    source="Kubernetes documentation, 'Assigning Pods to Nodes', 'Taints and Tolerations'",
    remedy="Leave placement to the pool, or describe the nodes as a pool of their own.",
    fault="unschedulable",
    links=("https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/",),
    ours=Severity.ERROR,
)
def runs_on_its_pool(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool = bundle.pool(workload)
    if pool is None:
        return
    # The head of a Ray cluster takes no cards, so it may stand elsewhere.
    for pod in (each for each in workload.pods if not (each is head_of(workload) and pod_units(workload, each).value == 0)):
        yield from _selected(pod, pool)
        yield from _offered(pod, pool)
        if pod.open:
            continue
        if _POOL in pool.labels and _POOL not in pod.node_selector:
            text = f"the pods no longer select {_POOL}: {pool.name}, so they may land on any node"
            yield Hit(f"{pod.path}.nodeSelector", text, f"leave {_POOL} in the selector; other labels may stand beside it")
        yield from _tolerated(pod, pool)


def _selected(pod: Pod, pool: Pool) -> Iterator[Hit]:
    for name, wanted in pod.node_selector.items():
        has = pool.labels.get(name, Fact())
        if wanted.known and has.known and wanted.get() not in has.get().split(","):
            text = f"the pods select {name}: {wanted.get()}, but the nodes of {pool_text(pool)} have {has.get()}"
            yield Hit(wanted.path, text, f"remove {name}, or name the pool whose nodes have it", wanted.get())
        elif name == _PRODUCT and wanted.known and has.absent and pool.gpu.known and _unlike(gpu(wanted.get()), gpu(pool.gpu.get())):
            text = f"the pods select the card {wanted.get()}, but {pool_text(pool)} has {pool.gpu.get()}"
            yield Hit(wanted.path, text, "leave the card to the pool, or name a pool of that one", wanted.get())


def _offered(pod: Pod, pool: Pool) -> Iterator[Hit]:
    """NVIDIA's units that the pool's nodes do not have: slices of whole cards, or the other way round."""
    # How cards are shared says what a node offers; a plugin may offer slices as nvidia.com/gpu, too.
    if not pool.sharing.known or (pool.sharing.get() == "mig" and pool.resource == "nvidia.com/gpu"):
        return
    for container in pod.engines():
        for units in accelerators(container):
            asked = units.resource.startswith("nvidia.com/") and units.unit in ("card", "slice") and units.count.value != 0
            if asked and pool.resource.startswith("nvidia.com/") and units.resource != pool.resource:
                text = f"the engine asks for {units.resource}, but {pool_text(pool)} offers {pool.resource}"
                yield Hit(units.count.path, text, f"ask for {pool.resource}, or name a pool that offers {units.resource}")


def _unlike(one: Gpu | None, other: Gpu | None) -> bool:
    """Whether two cards are surely not the same."""
    if one is None or other is None:
        return False
    larger, smaller = sorted((one.memory_gib.likely, other.memory_gib.likely), reverse=True)
    return one.compute_capability != other.compute_capability or larger > smaller * (1 + _ALIKE)


def _tolerated(pod: Pod, pool: Pool) -> Iterator[Hit]:
    missing = [] if "*" in pod.tolerations else [key for key in pool.taints if key not in pod.tolerations]
    if missing:
        told = ", ".join(missing)
        text = f"the nodes of {pool_text(pool)} are tainted with {told}, which the pods do not tolerate"
        yield Hit(f"{pod.path}.tolerations", text, f"tolerate {told}: a toleration with that key and operator Exists")
