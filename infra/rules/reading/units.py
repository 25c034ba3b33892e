"""How rules read facts: GPU units of containers and pods, the GPUs an engine uses, the container it runs in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from interlock.infra.catalog.accelerators import accelerator
from interlock.infra.facts import Bundle, Container, Fact, Place, Pod, Pool, Role, Workload, known, unknown
from interlock.infra.values import Version, quantity

COUNTED_VENDORS = ("nvidia", "amd", "gaudi")
"""Vendors whose resource units are the devices that vLLM's world size counts (a Neuron unit holds several cores, a TPU unit a chip)."""


@dataclass(frozen=True, slots=True)
class Units:
    """Accelerator units that a container asks for."""

    resource: str
    """The extended resource, or the device class of a claim."""
    vendor: str
    unit: str
    """card, slice, share, core or memory."""
    count: Fact[float]
    profile: str = ""
    """MIG profile of a slice."""
    claim: tuple[str, str] = ("", "")
    """Claim and request of devices that several containers of a pod may share."""


def number(text: str) -> float:
    """A quantity as a float. Raises ValueError, also for what no scheduler counts."""
    value = float(quantity(text))
    if abs(value) > 2**63:
        raise ValueError(f"{text[:40]!r} is too large for a quantity")
    return value


def stated(container: Container, resource: str) -> Fact[str]:
    """What the container asks of a resource: its limit, else its request (for an extended resource both must be equal)."""
    limit = container.limits.get(resource, Fact())
    return container.requests.get(resource, Fact()) if limit.absent else limit


def accelerators(container: Container) -> tuple[Units, ...]:
    """All accelerators of a container, by resources (also those of 0 units) and by claims."""
    found = []
    for resource in dict.fromkeys((*container.limits, *container.requests)):
        match = accelerator(resource)
        if match:
            profile = resource.rpartition("/")[2].removeprefix("mig-") if match[1] == "slice" else ""
            found.append(Units(resource, *match, stated(container, resource).map(number), profile))
    for device in container.devices:
        match = accelerator(device.device_class)
        if match:
            found.append(Units(device.device_class, *match, device.count.map(float), device.profile, (device.claim, device.request)))
    return tuple(found)


def counted(container: Container) -> Units | None:
    """The resource whose units are devices (cards, slices or shares) of a vendor that vLLM counts; None without one above 0."""
    for units in accelerators(container):
        zero = units.count.known and units.count.get() <= 0
        if units.unit in ("card", "slice", "share") and units.vendor in COUNTED_VENDORS and not zero:
            return units
    return None


def engine_containers(workload: Workload) -> Iterator[tuple[Pod, Container]]:
    """The containers of this workload's engine: the named one, else all with the engine role."""
    for pod in workload.pods:
        if pod_count(pod).value == 0 and len(workload.pods) > 1:
            continue  # A group of one has no workers.
        for container in pod.engines():
            if workload.engine.container in ("", container.name) or len(workload.pods) > 1:
                yield pod, container


def together(pod: Pod, asked: Callable[[Container], float]) -> float:
    """What the scheduler must find for a pod: the sum over its containers, or what one init container asks for where that is more."""
    running = sum(asked(each) for each in pod.containers if each.role is not Role.INIT)
    before = [asked(each) for each in (*pod.containers, pod.preflight) if each is not None and each.role is Role.INIT]
    return max([running, *before])


def pod_units(workload: Workload, pod: Pod) -> Fact[int]:
    """Accelerator units that the scheduler must find on one node for this pod; devices of a claim that containers share count once."""
    running: list[Units] = []
    if pod.open or any("" in (*container.limits, *container.requests) for container in pod.containers):
        return unknown(pod.path, "what the pod asks for cannot be read")
    for container in pod.containers:
        units = counted(container) if container.role is not Role.INIT else None
        if units is not None and (units.claim == ("", "") or all(units.claim != each.claim for each in running)):
            running.append(units)
    before = [units for each in (*pod.containers, pod.preflight) if each and each.role is Role.INIT and (units := counted(each))]
    for units in (*running, *before):
        if not units.count.known:
            return unknown(units.count.path, units.count.why)
    total = max([sum(each.count.get() for each in running), *(each.count.get() for each in before)])
    path = next((each.count.path for each in (*reversed(running), *before) if each.count.path), pod.path)
    return known(int(total), path) if total == int(total) else unknown(path, f"{total:g} is not a whole number of GPUs")


def pod_count(pod: Pod) -> Fact[int]:
    """Pods of this template in one replica."""
    return pod.count.default(1)


def replica_units(workload: Workload) -> Fact[int]:
    """Accelerator units that the engine of one replica gets: its own container in a one-pod replica, all pods of a larger one."""
    single = len(workload.pods) == 1 and pod_count(workload.pods[0]) == known(1, workload.pods[0].count.path)
    if single:
        units = [counted(container) for _, container in engine_containers(workload)]
        found = [unit.count for unit in units if unit]
        if len(found) != 1:
            return Fact()
        return found[0].map(_whole)
    total, path = 0, ""
    for pod in workload.pods:
        each, count = pod_units(workload, pod), pod_count(pod)
        if not each.known or not count.known:
            return unknown(each.path, each.why or count.why)
        total += each.get() * count.get()
        path = path or (each.path if each.get() else "")
    return known(total, path) if total else Fact()


def _whole(count: float) -> int:
    if count != int(count):
        raise ValueError(f"{count:g} is not an integer")
    return int(count)


def size_of(workload: Workload, fact: Fact[int]) -> Fact[int]:
    """A parallel size: 1 when it is not given and the whole command line could be read."""
    if fact.absent and not workload.engine.complete:
        return unknown(fact.path, "part of the command line cannot be read")
    return fact.default(1)


def pool_text(pool: Pool) -> str:
    """The pool as a sentence names it: ``pool a100``, or ``the pool`` where nobody named it."""
    return "the pool" if pool.name in ("", "pool") else f"pool {pool.name}"


def shared_cards(workload: Workload, bundle: Bundle) -> str:
    """How the cards under a workload are shared (``time-slicing``, ``mps``), as far as it is stated; empty for whole cards."""
    pool = bundle.pool(workload)
    if pool and pool.sharing.known and pool.sharing.value in ("time-slicing", "mps"):
        return str(pool.sharing.value)
    if any(units.unit == "share" for _, container in engine_containers(workload) for units in accelerators(container)):
        return "time-slicing"
    for pod in workload.pods:
        for label, value in pod.node_selector.items():
            if label in _SHARING_LABELS and value.known and value.get().lower() not in ("", "none", "exclusive", "false"):
                return value.get().lower()
            # GPU feature discovery marks the product of shared cards.
            if label == "nvidia.com/gpu.product" and value.known and value.get().endswith("-SHARED"):
                return "time-slicing"
    shared = next((config for config in bundle.sharing if not config.replicas.known or config.replicas.get() > 1), None)
    return shared.strategy if shared else ""


_SHARING_LABELS = (
    "nvidia.com/gpu.sharing-strategy",
    "cloud.google.com/gke-gpu-sharing-strategy",
    "cloud.google.com/gke-max-shared-clients-per-gpu",
)


def pods_text(workload: Workload) -> str:
    """``2 pods x 8`` or ``1 leader x 8 + 3 worker x 8``: how a replica's units come together."""
    parts = []
    for pod in workload.pods:
        each, count = pod_units(workload, pod), pod_count(pod)
        if each.known and count.known:
            parts.append(f"{count.get()} {pod.role or 'pod'} x {each.get()}")
    return " + ".join(parts)


def where(workload: Workload, place: Place, fact: Fact[Any] | None = None) -> str:
    """The path of a fact; for an absent one where it would stand, as the recogniser says, else the pod, the object, or the place's name."""
    if fact is not None and fact.path:
        return fact.path
    return workload.paths.get(place) or (workload.pods[0].path if workload.pods else "") or workload.origin.path or place.value


def older(workload: Workload, than: str) -> bool:
    """Whether the engine's version is known and older than ``than``."""
    have, limit = workload.engine.release, Version.released(than)
    return have is not None and limit is not None and have < limit


def switched_on(fact: Fact[str]) -> bool:
    """Whether a switch, flag or environment value is on."""
    return fact.known and str(fact.value).strip().lower() in ("1", "true", "yes", "on", "y")


def units_of(container: Container, resource: str) -> float:
    """Units of a resource that a container is given; 0 of any other, and where the number is not known."""
    units = counted(container)
    return units.count.value or 0.0 if units and units.resource == resource else 0.0
