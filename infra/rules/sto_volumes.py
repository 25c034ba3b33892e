"""Model storage: volumes that replicas share, weights that must fit, files that must be there."""

import re
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Claim, Container, DiskVolume, Fact, Pod, Volume, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.net_services import same_namespace
from interlock.infra.rules.reading.units import engine_containers, pod_count, switched_on
from interlock.infra.rules.rule import Hit, Settings, rule

_ONE_NODE = ("ReadWriteOnce", "ReadWriteOncePod")


def claim_of(volume: Volume, workload: Workload, bundle: Bundle) -> Claim | None:
    """The claim of the documents that a volume uses."""
    if volume.kind != "persistentVolumeClaim" or not volume.claim:
        return None
    near = (c for c in bundle.claims if c.origin.name == volume.claim and same_namespace(c.origin.namespace, workload.origin.namespace))
    return next(near, None)


def _kept_for(disk: DiskVolume, claim: Claim) -> bool:
    """Whether a volume's ``claimRef`` names a claim: another one of the same name elsewhere does not get it."""
    return disk.claim == claim.origin.name and same_namespace(disk.claim_namespace, claim.origin.namespace)


def bound_volume(claim: Claim, bundle: Bundle) -> DiskVolume | None:
    """The volume of the documents that a claim surely gets: the one that it names or that is kept for it."""
    named = claim.volume
    stated = [each for each in bundle.disk_volumes if _kept_for(each, claim) or (named.known and each.origin.name == named.get())]
    return stated[0] if len(stated) == 1 else None


def likely_volume(claim: Claim, bundle: Bundle) -> DiskVolume | None:
    """The volume that a claim gets, else the only one of its class; the cluster may have others, so no error may rest on that."""
    if claim.volume.known or not claim.storage_class.known or any(_kept_for(each, claim) for each in bundle.disk_volumes):
        return bound_volume(claim, bundle)
    alike = [each for each in bundle.disk_volumes if each.storage_class.value == claim.storage_class.get() and not each.claim]
    return alike[0] if len(alike) == 1 else None


def one_node(claim: Claim | None) -> bool:
    """Whether a claim can be mounted on one node only."""
    return (
        claim is not None
        and claim.access_modes.known
        and bool(claim.access_modes.get())
        and set(claim.access_modes.get()) <= set(_ONE_NODE)
    )


def pinned(pod: Pod) -> bool:
    """Whether all pods of a template sit on one node."""
    return "kubernetes.io/hostname" in pod.node_selector


@rule(
    "STO-001",
    Severity.ERROR,
    demand="A volume for one node is not shared by pods that may sit on several.",
    reason="The second node cannot attach it: the pod waits in ContainerCreating, and rolling updates stop.",
    source="Kubernetes documentation, 'Persistent Volumes' (access modes); vllm-project/production-stack#107",
    remedy="Use ReadWriteMany, or one claim per replica.",
    fault="pvc-rwo-multi-replica",
    links=("https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes",),
)
def shared_claim(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pods = sum(count.get() if (count := pod_count(pod)).known else 1 for pod in workload.pods)
    replicas = workload.replicas.default(1)
    scaled = _scaled_to(workload, bundle)
    total = (replicas.get() if replicas.known else 1) * pods
    seen: set[str] = set()
    for pod in workload.pods:
        for volume in pod.volumes:
            claim = claim_of(volume, workload, bundle)
            if claim is None or not one_node(claim) or pinned(pod) or volume.claim in seen:
                continue
            if max(total, scaled) < 2:
                others = [each for each in bundle.workloads if each is not workload and _mounts(each, volume.claim, workload)]
                if others:
                    text = f"claim {volume.claim} is {claim.access_modes.get()[0]}, and {others[0].origin.name} mounts it too"
                    remedy = "use ReadWriteMany, a claim for each, or tie both to one node"
                    level = Severity.WARNING
                    yield Hit(volume.path, text, remedy, volume.claim, severity=level, fault="pvc-rwo-shared")
                continue
            seen.add(volume.claim)
            certain = total > 1
            mode = claim.access_modes.get()[0]
            what = f"{total} pods" if certain else f"up to {scaled} pods (autoscaled)"
            text = f"claim {volume.claim} is {mode}, but {what} mount it: those on other nodes never start"
            level = Severity.ERROR if certain else Severity.WARNING
            remedy = "use ReadWriteMany (or ReadOnlyMany), or a StatefulSet with a claim of its own per replica"
            yield Hit(volume.path or claim.access_modes.path, text, remedy, mode, severity=level)


def _mounts(workload: Workload, claim: str, near: Workload) -> bool:
    """Whether another workload's pods, which nothing ties to one node, mount a claim of that name."""
    inside = same_namespace(workload.origin.namespace, near.origin.namespace) and workload.origin.name != near.origin.name
    return inside and any(volume.claim == claim and not pinned(pod) for pod in workload.pods for volume in pod.volumes)


def _scaled_to(workload: Workload, bundle: Bundle) -> int:
    """The most replicas an autoscaler of the documents makes."""
    best = 0
    for scaler in bundle.autoscalers:
        if scaler.target.known and scaler.target.get() == workload.origin.name and scaler.max_replicas.known:
            best = max(best, scaler.max_replicas.get())
    return best


@rule(
    "STO-002",
    Severity.WARNING,
    demand="Weights on hostPath go with a node affinity.",
    reason="On another node the path is empty or of other content: the engine downloads again or finds no model.",
    source="Kubernetes documentation, 'Volumes' (hostPath)",
    remedy="Add a node affinity, or use a local PersistentVolume.",
    fault="hostpath",
    links=("https://kubernetes.io/docs/concepts/storage/volumes/#hostpath",),
)
def host_path(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod, container in engine_containers(workload):
        if pod.affinity or pod.node_selector:
            continue
        mounts = {mount.volume: mount for mount in container.mounts}
        for volume in pod.volumes:
            mount = mounts.get(volume.name)
            if volume.kind == "hostPath" and mount and _holds_weights(workload, container, mount.mount_path):
                text = f"{volume.host_path or volume.name} of the node is mounted at {mount.mount_path}, but nothing ties the pod to a node"
                remedy = "add a node affinity (kubernetes.io/hostname or a label of your own), or use a local PersistentVolume"
                yield Hit(volume.path, text, remedy, volume.host_path)
            claim = claim_of(volume, workload, bundle) if mount and _holds_weights(workload, container, mount.mount_path) else None
            disk = likely_volume(claim, bundle) if claim else None
            if disk and disk.host_path.known and not disk.nodes:
                text = f"claim {volume.claim} is {disk.host_path.get()} of whichever node the pod lands on, and nothing ties the pod to one"
                remedy = "give the volume a nodeAffinity (a local PersistentVolume), or the pod one"
                path = disk.host_path.path.removesuffix(".path")
                yield Hit(path, text, remedy, disk.host_path.get(), origin=disk.origin)


_CACHES = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE")


def _holds_weights(workload: Workload, container: Container, mount: str) -> bool:
    """Whether a mount holds the model's path, the hub's cache, or a part of it."""
    engine, env = workload.engine, container.env
    stated = [fact for name in _CACHES if (fact := env.get(name)) is not None]
    stated += [fact for fact in (engine.model, engine.flag("download-dir")) if fact.known and str(fact.value).startswith("/")]
    home = env.get("HOME")
    places = [str(fact.value) for fact in stated if fact.known]
    if not any(name in env for name in _CACHES):
        places.append(f"{str(home.value).rstrip('/') if home and home.known else '/root'}/.cache/huggingface")
    root = mount.rstrip("/")
    return any(place == root or place.startswith(root + "/") or root.startswith(place.rstrip("/") + "/") for place in places)


@rule(
    "STO-003",
    Severity.WARNING,
    demand="A claim is used.",
    reason="The volume costs money, and the engine that should use it downloads into its container at each start.",
    source="Kubernetes documentation, 'Persistent Volumes'",
    remedy="Mount it, or delete it.",
    fault="unused-pvc",
    of="bundle",
)
def unused_claim(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for claim in bundle.claims if any(workload.engine.name == "vllm" for workload in bundle.workloads) else ():
        if claim.users.known and claim.users.get() == 0:
            text = f"claim {claim.origin.name} is used by no pod of these documents"
            yield Hit("metadata.name", text, "mount it where the model cache is, or delete it", claim.origin.name, origin=claim.origin)


@rule(
    "STO-005",
    Severity.ERROR,
    demand="An engine that may not download finds all its files on a volume.",
    reason="With HF_HUB_OFFLINE=1 the start fails as soon as one file (also of a draft model) is not in the cache.",
    source="huggingface_hub documentation, HF_HUB_OFFLINE; noonghunna/club-3090#322",
    remedy="Mount the cache, or name local paths.",
)
def offline(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod, container in engine_containers(workload):
        switch = next(
            (container.env[n] for n in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") if switched_on(container.env.get(n, Fact()))), None
        )
        if switch is None or _may_hold_files(pod, container):
            continue
        for what, name in _downloads(workload):
            if not name.startswith(("/", "./")) and "://" not in name:
                text = f"the engine may not download, but {what} {name} is a name of the hub and no volume holds it"
                level = Severity.ERROR if official(workload) else Severity.WARNING
                yield Hit(switch.path, text, "mount the model cache, or name a local path, or allow the download", name, severity=level)


_WITHOUT_WEIGHTS = ("configMap", "secret", "downwardAPI", "projected")


def _may_hold_files(pod: Pod, container: Container) -> bool:
    """Whether a volume may bring model files: none does that starts empty and is filled by no other container, or holds configuration."""
    kinds = {volume.name: volume.kind for volume in pod.volumes}
    others = {mount.volume for each in pod.containers if each.name != container.name for mount in each.mounts}
    brought = (kinds.get(mount.volume, "") for mount in container.mounts if kinds.get(mount.volume) != "emptyDir" or mount.volume in others)
    return any(kind not in _WITHOUT_WEIGHTS for kind in brought) or "image" in kinds.values()


def _downloads(workload: Workload) -> list[tuple[str, str]]:
    found = []
    if workload.engine.model.known:
        found.append(("the model", workload.engine.model.get()))
    draft = workload.engine.flag("speculative-config")
    match = re.search(r'"model"\s*:\s*"([^"]+)"', draft.get()) if draft.known else None
    if match:
        found.append(("the draft model", match.group(1)))
    return found
