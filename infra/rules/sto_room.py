"""Room for a model's files: where they are downloaded to, and what they are read from."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from interlock.infra.facts import Bundle, Claim, Container, Fact, Origin, Pod, Volume, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.checkpoint import Weights, weights
from interlock.infra.rules.reading.units import engine_containers, pool_text
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.rules.sto_volumes import claim_of
from interlock.infra.values import GIB, bytes_of, gib

_ELASTIC = ("efs", "nfs", "juicefs", "filestore", "gcsfuse", "s3", "blob", "local-path", "hostpath")
"""Words in the names of classes whose volumes hold more than a claim asks for: elastic ones, and folders of a node without a quota
(README of rancher/local-path-provisioner: the capacity limit is ignored)."""
_SPARE = 1.2


@dataclass(frozen=True, slots=True)
class _Room:
    """A place for files, and whose they are."""

    limit: int
    what: str
    path: str
    files: tuple[tuple[str, Weights], ...]
    """(name of a workload, its checkpoint), each checkpoint once."""
    origin: Origin | None = None
    """The object that states the limit, where it is not the workload's."""


@rule(
    "STO-004",
    Severity.ERROR,
    demand="The place where the model is downloaded to, or read from, holds the checkpoint.",
    reason="The download stops with no space left, or the kubelet evicts the pod.",
    source="llm-d/llm-d#857, GoogleCloudPlatform/kubernetes-engine-samples#1581",
    remedy="Make the volume larger than the checkpoint, with a fifth to spare.",
    fault="room-for-weights",
)
def room_for_weights(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    size, model = weights(workload), workload.engine.model
    moved = workload.engine.flag("download-dir").known or workload.engine.flag("load-format").known
    if size is None or not model.known or "://" in model.get() or (moved and not _folder(workload)):
        return
    for pod, container in engine_containers(workload):
        for room in _rooms(workload, size, pod, container, bundle):
            least, likely = (sum(getattr(each, part) for _, each in room.files) for part in ("least", "likely"))
            if room.limit >= likely:
                continue
            whose = ", ".join(name for name, _ in room.files)
            told = f"the checkpoint has about {gib(likely)} ({room.files[0][1].origin})"
            text = f"{room.what} holds {gib(room.limit)}, but " + (
                told if len(room.files) == 1 else f"the checkpoints of {whose} have {gib(likely)}"
            )
            level = Severity.ERROR if room.limit < least else Severity.WARNING
            wanted = math.ceil(likely * _SPARE / GIB)
            remedy, fixes = f"make it at least {wanted}Gi", put(room.path, f"{wanted}Gi") if room.origin else ()
            yield Hit(room.path, text, remedy, gib(room.limit), severity=level, origin=room.origin, fixes=fixes)


def _folder(workload: Workload) -> str:
    """The folder that the files are read from; empty where the engine downloads them."""
    given = workload.engine.folder if workload.engine.folder.known else workload.engine.model
    return str(given.value) if given.known and str(given.value).startswith("/") else ""


def _rooms(workload: Workload, size: Weights, pod: Pod, container: Container, bundle: Bundle) -> Iterator[_Room]:
    folder, own = _folder(workload), ((workload.origin.name, size),)
    held = _holding(folder, container) if folder else _cache_mounts(container)
    for volume in pod.volumes:
        if volume.name not in held or (volume.medium == "Memory" and not folder):
            continue
        claim = claim_of(volume, workload, bundle)
        if claim and claim.size.known and not _elastic(claim, bundle):
            files = _together(volume, claim, bundle) if folder else own
            yield _Room(claim.size.get(), f"claim {volume.claim}", claim.size.path or volume.path, files, claim.origin)
        elif volume.kind == "emptyDir" and volume.size_limit.known:
            yield _Room(volume.size_limit.get(), f"emptyDir {volume.name}", volume.size_limit.path or volume.path, own)
    kept = [volume for volume in pod.volumes if volume.name in held and (volume.kind != "emptyDir" or volume.medium)]
    if kept or folder:
        return  # Not on the node's disk, which the limit counts emptyDirs on.
    ephemeral = container.limits.get("ephemeral-storage", Fact()).map(bytes_of)
    pool = bundle.pool(workload)
    if ephemeral.known:
        yield _Room(ephemeral.get(), "the ephemeral-storage limit", ephemeral.path, own)
    elif pool and pool.disk.known:
        what = f"the disk of a node of {pool_text(pool)}, where the files come to lie,"
        yield _Room(pool.disk.get(), what, pool.disk.path or pod.path, own)


def _elastic(claim: Claim, bundle: Bundle) -> bool:
    """Whether the volume may hold more than is asked for: one that somebody made by hand, or a file system without a size."""
    named = claim.storage_class
    by_hand = named.known and any(named.get() == each.storage_class.value for each in bundle.disk_volumes)
    if claim.volume.known or named.value == "" or by_hand:
        return True
    return named.known and any(word in named.get().lower() for word in _ELASTIC)


def _holding(folder: str, container: Container) -> set[str]:
    """The volume that a folder lies in: of those mounted above it the nearest."""
    above = [mount for mount in container.mounts if f"{folder}/".startswith(f"{mount.mount_path.rstrip('/')}/")]
    return {max(above, key=lambda mount: len(mount.mount_path)).volume} if above else set()


def _together(volume: Volume, claim: Claim, bundle: Bundle) -> tuple[tuple[str, Weights], ...]:
    """The checkpoints that workloads read from a claim, each folder once."""
    key = ("files of a claim", claim.origin.namespace, claim.origin.name)
    if key not in bundle.memo:
        found: dict[str, tuple[str, Weights]] = {}
        for other in bundle.workloads:
            size, folder = weights(other), _folder(other)
            for pod, container in engine_containers(other) if size and folder else ():
                volumes = {each.name for each in pod.volumes if claim_of(each, other, bundle) is claim}
                if size and volumes & _holding(folder, container):
                    found.setdefault(folder, (other.origin.name, size))
        bundle.memo[key] = tuple(found.values())
    files: tuple[tuple[str, Weights], ...] = bundle.memo[key]
    return files


def _cache_mounts(container: Container) -> set[str]:
    """Volumes mounted where the model is downloaded to."""
    places = [container.env[name].get() for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") if _plain(container, name)]
    places = places or ["/root/.cache/huggingface"]
    return {
        mount.volume for mount in container.mounts if any(f"{place}/".startswith(f"{mount.mount_path.rstrip('/')}/") for place in places)
    }


def _plain(container: Container, name: str) -> bool:
    return name in container.env and container.env[name].known
