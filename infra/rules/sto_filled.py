"""Volumes that nobody puts the model on."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Container, Pod, Role, Volume, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.cache import mount_of
from interlock.infra.rules.reading.units import engine_containers
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.rules.sto_volumes import claim_of, likely_volume

_PLAIN = ("serve", "module", "image")


@rule(
    "STO-013",
    Severity.WARNING,
    demand="Something puts the model on the claim that the engine opens it from.",
    reason="A new claim is empty: the folder is not there, and the engine takes its path for a name on the hub and stops.",
    source="Kubernetes documentation, 'Persistent Volumes' (dynamic provisioning); vllm/config/model.py (a path that is not there)",
    remedy="Fill it by an init container or a Job, or name the model by its id.",
    fault="claim-that-nothing-fills",
    links=("https://kubernetes.io/docs/concepts/storage/persistent-volumes/#lifecycle-of-a-volume-and-claim",),
)
def is_filled(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    folder = workload.engine.model if workload.engine.folder.absent else workload.engine.folder
    place = str(folder.value) if folder.known else ""
    # A script may fetch before it serves, and an operator has its own ways.
    if not place.startswith("/") or workload.engine.entrypoint not in _PLAIN or workload.operator_adds or workload.ray is not None:
        return
    for pod, container in engine_containers(workload):
        mount = mount_of(container, place)
        volume = next((each for each in pod.volumes if mount and each.name == mount.volume), None)
        if volume is None or pod.open or _writers(pod, container, volume):
            continue
        own = volume.kind == "volumeClaimTemplate"
        if not own and not _new(volume, workload, bundle):
            continue
        whose = "a new claim of each replica" if own else f"claim {volume.claim}, which is made here"
        nobody = "nothing in the stack" if bundle.closed else "nothing in the pod" if own else "nothing that was read"
        text = f"{place} lies on {whose}, and {nobody} writes there: the folder is empty at the first start"
        remedy = "add an init container or a Job that puts the model there, or name the model by its id on the hub"
        level = Severity.WARNING if bundle.closed or own else Severity.INFO
        yield Hit(folder.path or volume.path, text, remedy, place, severity=level, also=((None, volume.path),))


def _writers(pod: Pod, engine: Container, volume: Volume) -> list[Container]:
    """The other containers of the pod that mount it so that they can write."""
    others = [box for box in pod.containers if box is not engine and (box.role is Role.INIT or box.role is Role.SIDECAR)]
    return [box for box in others if any(mount.volume in (volume.name, "") and not mount.read_only for mount in box.mounts)]


def _new(volume: Volume, workload: Workload, bundle: Bundle) -> bool:
    """Whether it is a claim of the documents that begins empty and that nobody else mounts."""
    claim = claim_of(volume, workload, bundle)
    if claim is None or claim.copied or claim.volume.known or claim.volume.unknown or claim.storage_class.value == "":
        return False
    return claim.users.known and claim.users.get() == 1 and likely_volume(claim, bundle) is None
