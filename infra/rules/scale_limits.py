"""Limits of a namespace: what it allows one container or one pod to ask for."""

from collections.abc import Iterable, Iterator

from interlock.infra.facts import Bundle, Container, Fact, LimitRange, Pod, Role, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import number
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.values import gib

_IN_BYTES = frozenset({"memory", "ephemeral-storage"})


@rule(
    "SCALE-018",
    Severity.ERROR,
    demand="A namespace's LimitRange allows what its engines ask for.",
    reason="The API server refuses each pod outside of it; the Deployment shows no pod at all.",
    source="Kubernetes documentation, 'Limit Ranges'; kubernetes v1.37.2 plugin/pkg/admission/limitranger PodValidateLimitFunc",
    remedy="Raise the limit of the LimitRange, or ask for less.",
    fault="limit-range",
    links=("https://kubernetes.io/docs/concepts/policy/limit-range/",),
)
def within_limits(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    space = workload.origin.namespace
    for limits in (each for each in bundle.limit_ranges if space and each.origin.namespace == space):
        for pod in workload.pods:
            yield from _of_containers(limits, pod) if limits.of == "Container" else _of_pod(limits, pod)


def _of_containers(limits: LimitRange, pod: Pod) -> Iterator[Hit]:
    for box in (*pod.containers, *([pod.preflight] if pod.preflight else [])):
        for name, most in limits.most.items():
            asked = _stated(box, name)
            if _above(asked, most):
                said = f"{box.name} asks for {_shown(number(asked.get()), name)} {name}"
                yield _hit(limits, name, asked, most, f"{said}, and LimitRange {limits.origin.name} allows a container {most.get()}")
        for name, least in limits.least.items():
            asked = box.requests.get(name, box.limits.get(name, Fact()))
            if _above(least, asked):
                said = f"{box.name} asks for {_shown(number(asked.get()), name)} {name}"
                text = f"{said}, and LimitRange {limits.origin.name} asks for {least.get()} or more"
                yield Hit(asked.path, text, f"ask for {least.get()} or more", asked.get(), also=((limits.origin, least.path),))


def _of_pod(limits: LimitRange, pod: Pod) -> Iterator[Hit]:
    """The sum of a pod's containers; those that run before them are not counted here."""
    boxes = [box for box in pod.containers if box.role is not Role.INIT]
    for name, most in limits.most.items():
        stated = [fact for box in boxes if (fact := _stated(box, name)).map(number).known]
        total = sum(number(fact.get()) for fact in stated)
        if stated and most.map(number).known and total > number(most.get()):
            text = f"the pod asks for {_shown(total, name)} {name}, and LimitRange {limits.origin.name} allows a pod {most.get()}"
            yield _hit(limits, name, stated[0], most, text)


def _hit(limits: LimitRange, name: str, asked: Fact[str], most: Fact[str], text: str) -> Hit:
    remedy = f"ask for {most.get()} or less, or raise max.{name} of the LimitRange"
    return Hit(asked.path, text, remedy, asked.get(), also=((limits.origin, most.path),))


def _above(one: Fact[str], other: Fact[str]) -> bool:
    left, right = one.map(number), other.map(number)
    return left.known and right.known and left.get() > right.get()


def _stated(box: Container, name: str) -> Fact[str]:
    """The limit, else the request, which may not be larger either."""
    limit = box.limits.get(name, Fact())
    return box.requests.get(name, Fact()) if limit.absent else limit


def _shown(amount: float, name: str) -> str:
    return gib(amount) if name in _IN_BYTES else f"{amount:g}"
