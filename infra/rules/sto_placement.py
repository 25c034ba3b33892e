"""Where volumes are and who may mount them: node folders and Pod Security, local volumes and when they bind."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Place, Volume, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.rules.sto_volumes import bound_volume, claim_of

_STANDARDS = "https://kubernetes.io/docs/concepts/security/pod-security-standards/"

NO_PROVISIONER = "kubernetes.io/no-provisioner"
LATE = "WaitForFirstConsumer"
OPEN = "privileged"
"""The level that forbids nothing."""


def security_level(workload: Workload, bundle: Bundle) -> str:
    """The Pod Security level that the workload's namespace enforces as far as the documents say; empty when they do not."""
    for space in bundle.namespaces:
        if space.origin.name == workload.origin.namespace and space.pod_security.known:
            return space.pod_security.get()
    return ""


@rule(
    "STO-101",
    Severity.ERROR,
    demand="A pod that mounts a folder of its node is in a namespace whose Pod Security level allows it.",
    reason="The levels baseline and restricted forbid hostPath: the API server refuses every pod, and the Deployment stays empty.",
    source="Kubernetes documentation, 'Pod Security Standards' (HostPath Volumes)",
    remedy="Use a local PersistentVolume, or a privileged namespace.",
    links=(_STANDARDS,),
)
def host_path_allowed(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    level = security_level(workload, bundle)
    if level in ("", OPEN):
        return
    for pod in workload.pods:
        for volume in (each for each in pod.volumes if each.kind == "hostPath"):
            text = f"{volume.host_path or volume.name} is a folder of the node, and namespace {workload.origin.namespace} enforces {level}"
            remedy = "use a claim on a local PersistentVolume, which every level allows, or a namespace of the level privileged"
            yield Hit(volume.path or where(workload, Place.VOLUMES), text, remedy, volume.host_path)


@rule(
    "STO-102",
    Severity.ERROR,
    demand="A class of local volumes binds when its first pod is scheduled.",
    reason="Bound at once, the claim picks a node without looking at GPUs; the pod can then run nowhere else and stays Pending.",
    source="Kubernetes documentation, 'Storage Classes' (Volume binding mode, Local)",
    remedy="Set volumeBindingMode: WaitForFirstConsumer.",
    links=("https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode",),
    of="bundle",
)
def late_binding(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    local = {each.storage_class.get() for each in bundle.disk_volumes if each.local and each.storage_class.known}
    for named in bundle.storage_classes:
        of_nodes = named.origin.name in local or (named.provisioner.known and named.provisioner.get() == NO_PROVISIONER)
        binding = named.binding.default("Immediate")
        if of_nodes and binding.known and binding.get() != LATE:
            text = (
                f"class {named.origin.name} of volumes on nodes binds {binding.get()}: the claim takes a volume before the pod has a node"
            )
            yield Hit(
                named.binding.path or "volumeBindingMode",
                text,
                f"set volumeBindingMode: {LATE}",
                binding.get(),
                origin=named.origin,
                fixes=put(named.binding.path or "volumeBindingMode", LATE),
            )


@rule(
    "STO-103",
    Severity.WARNING,
    demand="Weights in a node's folder are on every node that may get the pod.",
    reason="On a node without the folder the pod waits in ContainerCreating (hostPath type check failed).",
    source="Kubernetes documentation, 'Volumes' (hostPath, type Directory)",
    remedy="Name the nodes, or copy the weights to every node.",
    links=("https://kubernetes.io/docs/concepts/storage/volumes/#hostpath",),
    ours=Severity.ERROR,
)
def known_nodes(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool = bundle.pool(workload)
    nodes = pool.nodes.get() if pool and pool.nodes.known else 1
    for pod in workload.pods:
        for volume in pod.volumes:
            if _given(volume, pod.affinity, pod.containers) and nodes > 1:
                text = f"{volume.host_path} must hold the weights already, and any of the pool's {nodes} nodes may get the pod"
                remedy = "name the nodes that hold it (stores[].nodes), or use kind node-sync, which fills every node"
                yield Hit(volume.path, text, remedy, volume.host_path)


def _given(volume: Volume, affinity: bool, containers: Iterable[object]) -> bool:
    """A folder that must be there: our own pods mount one that a copy fills as DirectoryOrCreate, beside an init container."""
    filled = any(getattr(each, "name", "") == "weights-sync" for each in containers)
    return volume.kind == "hostPath" and volume.name == "weights" and not affinity and not filled


@rule(
    "STO-009",
    Severity.ERROR,
    demand="A pod may run where its volume lies.",
    reason="The scheduler finds no node that both allow (volume node affinity conflict): the pod stays Pending forever.",
    source="Kubernetes documentation, 'Persistent Volumes' (node affinity)",
    remedy="Ask for the volume's node, or for a volume on the pod's.",
    fault="volume-node-conflict",
    links=("https://kubernetes.io/docs/concepts/storage/persistent-volumes/#node-affinity",),
)
def same_node(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod in workload.pods:
        for volume in pod.volumes:
            claim = claim_of(volume, workload, bundle)
            disk = bound_volume(claim, bundle) if claim else None
            for label, values in disk.nodes.items() if disk else ():
                asked = pod.node_selector.get(label)
                if disk and asked is not None and asked.known and asked.get() not in values:
                    text = (
                        f"the pod asks for {label} {asked.get()}, but volume {disk.origin.name} of claim {volume.claim} is on {values[0]}"
                    )
                    remedy = f"set {label} to {values[0]}, or give the claim a volume on {asked.get()}"
                    yield Hit(asked.path, text, remedy, asked.get(), fixes=put(asked.path, values[0]))
