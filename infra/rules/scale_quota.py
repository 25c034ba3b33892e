"""Quotas of a namespace: what its engines ask for, and what a rolling update asks for on top."""

import math
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Container, Fact, Quota, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import number, pod_count, together, units_of
from interlock.infra.rules.roll_rollout import surge
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.values import GIB, gib

_IN_BYTES = frozenset({"memory", "storage", "ephemeral-storage"})
_STORAGE, _PODS = "requests.storage", "pods"
_OF_A_CLASS = ".deviceclass.resource.k8s.io/devices"
"""Ends the name under which a quota counts the devices that claims take of a device class."""


@rule(
    "SCALE-008",
    Severity.ERROR,
    demand="A namespace's quota covers its engines.",
    reason="The API server refuses the pods beyond it; the Deployment shows no pod at all.",
    source="Kubernetes documentation, 'Resource Quotas'",
    remedy="Raise the quota or lower the replicas.",
    links=("https://kubernetes.io/docs/concepts/policy/resource-quotas/",),
    of="bundle",
)
def quota(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for limit in bundle.quotas:
        near = _near(limit, bundle)
        for name, fact in limit.hard.items():
            allowed = fact.map(number)
            if not allowed.known or not limit.origin.namespace:
                continue
            asked, users = _of_claims(limit, bundle) if name == _STORAGE else _asked(near, name)
            more, rolled = max((_surge(workload, name) for workload in near), default=(0.0, ""))
            need, resource = asked + more, name.removesuffix(_OF_A_CLASS).removeprefix("requests.").removeprefix("limits.")
            if need <= allowed.get():
                continue
            said = f"the namespace may use {_told(allowed.get(), resource)} {resource}, "
            if asked > allowed.get():
                text = f"{said}but its {'claims' if name == _STORAGE else 'engines'} ask for {_told(asked, resource)} ({', '.join(users)})"
            else:
                text = f"{said}and its engines ask for {_told(asked, resource)}: a rolling update of {rolled} starts "
                text += f"{_told(more, resource)} more before it stops any, which are not admitted: it stands still"
            enough = f"{math.ceil(need / GIB)}Gi" if resource in _IN_BYTES else f"{need:g}"
            fewer = "make the claims smaller" if name == _STORAGE else "ask for fewer replicas"
            remedy = f"raise the quota to {enough}, or {fewer}"
            yield Hit(fact.path, text, remedy, fact.get(), origin=limit.origin, fixes=put(fact.path, enough))


def _near(limit: Quota, bundle: Bundle) -> list[Workload]:
    """The workloads of the quota's namespace: sorted once, as every namespace may have a quota."""
    found: dict[str, list[Workload]] | None = bundle.memo.get(_near)
    if found is None:
        found = bundle.memo[_near] = {}
        for workload in bundle.workloads:
            found.setdefault(workload.origin.namespace, []).append(workload)
    return found.get(limit.origin.namespace, [])


def _told(amount: float, resource: str) -> str:
    return gib(amount) if resource in _IN_BYTES else f"{amount:g}"


def _amount(container: Container, name: str) -> float:
    """What a container asks for under a name of a quota: units of a device, or a request, which is its limit where none is stated."""
    if name.endswith(_OF_A_CLASS):
        return units_of(container, name.removesuffix(_OF_A_CLASS))
    kind, _, rest = name.partition(".")
    resource = rest if kind in ("requests", "limits") else name
    if units := units_of(container, resource):
        return units
    limit = container.limits.get(resource, Fact())
    asked = limit if kind == "limits" else container.requests.get(resource, limit)
    return asked.map(number).value or 0.0


def _surge(workload: Workload, name: str) -> tuple[float, str]:
    """(devices that a rolling update must start before it stops a pod, the workload's name); nothing where it may stop one first."""
    moves = surge(workload)
    if "/" not in name or moves is None or moves[1] > 0 or not workload.pods or workload.replicas.value == 0:
        return 0.0, ""
    each = together(workload.pods[0], lambda container: _amount(container, name))
    return each * min(moves[0], 1), workload.origin.name


def _asked(workloads: list[Workload], name: str) -> tuple[float, list[str]]:
    """(what the workloads ask for together, each with its part)."""
    total, users = 0.0, []
    for workload in workloads:
        replicas, mine = workload.replicas.default(1), 0.0
        for pod in workload.pods:
            if pod_count(pod).known:
                each = 1.0 if name == _PODS else together(pod, lambda container: _amount(container, name))
                mine += each * pod_count(pod).get()
        if mine and replicas.known:
            total += mine * replicas.get()
            users.append(f"{workload.origin.name} {_told(mine * replicas.get(), name.rpartition('.')[2])}")
    return total, users


def _of_claims(limit: Quota, bundle: Bundle) -> tuple[float, list[str]]:
    """The same of the namespace's claims."""
    own = [claim for claim in bundle.claims if claim.origin.namespace == limit.origin.namespace and claim.size.known]
    return float(sum(claim.size.get() for claim in own)), [f"{claim.origin.name} {gib(claim.size.get())}" for claim in own]
