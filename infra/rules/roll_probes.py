"""Probes: whether the engine gets the time it needs to load, and whether anything sees that it hangs."""

import math
import re
from collections.abc import Iterable

from interlock.infra.catalog.vllm_flags import comes_later
from interlock.infra.facts import Bundle, Container, Fact, Place, Pod, Probe, Role, Workload, known
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.reading.checkpoint import weights
from interlock.infra.rules.reading.load import container_seconds, reading_of, warm_seconds
from interlock.infra.rules.reading.units import engine_containers, where
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.sizing.start import Reading


def least_load_seconds(workload: Workload, settings: Settings) -> tuple[float, str]:
    """What the model needs at the very least from container start to ready, and how that is derived.

    The likely time of every step, the weights from a hub, capped: an error must not rest on a slow network.
    """
    cap, size = float(settings["cap_seconds"]), weights(workload)
    if size is None:
        return float(settings["least_seconds"]), "size of the model unknown, the least of any"
    reading, likely = reading_of(workload), container_seconds(workload).likely
    need = min(cap, likely)
    place = "a hub" if reading is Reading.HUB else "a volume"
    return round(need), f"{size.origin} loaded from {place} in {likely:.0f} s with start and compilation, of which at most {cap:g} s count"


def slowest_start(workload: Workload) -> float | None:
    """Seconds from the container's start to ready when every step is slow; None when the model's size is not known."""
    return None if weights(workload) is None else container_seconds(workload).high


def killing_probe(container: Container) -> Probe | None:
    """The probe that can kill a container that is still loading: the startup probe, else the liveness probe."""
    found = (container.probes.get(kind) for kind in ("startup", "liveness"))
    return next((probe for probe in found if probe and not _cannot_fail(probe)), None)


def budget(probe: Probe) -> Fact[float]:
    """Seconds that a killing probe gives: initialDelaySeconds + periodSeconds x failureThreshold."""
    for part in _timing(probe):
        if not part.known:
            return Fact(part.state, None, part.path, part.why)
    delay, period, failures = (float(part.get()) for part in _timing(probe))
    # A budget that the defaults make stands nowhere in the file but in the probe itself.
    return known(delay + period * failures, probe.failure_threshold.path if probe.failure_threshold.known else probe.path)


def _threshold(probe: Probe) -> str:
    """``failureThreshold`` as the file states it; empty where it is left out."""
    return str(probe.failure_threshold.get()) if probe.failure_threshold.known else ""


def _timing(probe: Probe) -> tuple[Fact[float], Fact[float], Fact[int]]:
    return probe.initial_delay.default(0), probe.period.default(10), probe.failure_threshold.default(3)


def patient_seconds(workload: Workload) -> int:
    """Seconds that are enough for a start at the high end of its estimate, in whole minutes: what every remedy about waiting names."""
    return math.ceil(container_seconds(workload).high / 60) * 60


@rule(
    "ROLL-001",
    Severity.ERROR,
    demand="The probe that can kill a loading engine gives it the time that its model needs.",
    reason="The kubelet restarts the container before the model is loaded, and again: a start that keeps nothing never completes.",
    source="Kubernetes documentation, 'Configure Liveness, Readiness and Startup Probes'; opendatahub-io/kserve#1161",
    remedy="Add a startupProbe whose periodSeconds x failureThreshold exceeds the load time.",
    fault="probe-too-short",
    links=("https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",),
    settings={"least_seconds": 120, "cap_seconds": 300},
)
def startup_budget(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if "probes" in workload.operator_adds:
        return
    least, how = least_load_seconds(workload, settings)
    predicted, fastest = workload.engine.load_seconds, workload.engine.least_load_seconds
    need = predicted.get() if predicted.known else least
    for _, container in engine_containers(workload):
        probe = killing_probe(container)
        given = budget(probe) if probe else Fact()
        if probe is None or not given.known:
            continue
        if given.get() >= need:
            yield from _large(workload, probe, given)
            yield from _impatient(workload, container, probe, given)
            continue
        delay, period, failures = (float(fact.get()) for fact in _timing(probe))
        text = f"the {probe.kind} probe gives {delay:g} + {period:g} x {failures:g} = {given.get():g} s"
        why = "the planner's estimate" if predicted.known else how
        again = None if predicted.known else warm_seconds(workload, container)
        # Half of what is likely is little on any disk and network, and less than the fastest start never is enough.
        sure = fastest.get() if fastest.known else max(container_seconds(workload).low, need / 2)
        warm = again is not None and given.get() >= again / 2
        enough = max(need * 1.5, patient_seconds(workload)) if predicted.known else need * 1.5
        threshold = math.ceil(enough / max(period, 1))
        remedy = f"add a startupProbe with periodSeconds {max(period, 1):g} and failureThreshold {threshold}"
        fixes: tuple[Fix, ...] = ()
        if probe.kind == "startup":
            remedy = f"give the startup probe at least {threshold * max(period, 1) + delay:g} s (failureThreshold x periodSeconds)"
            fixes = put(f"{probe.path}.failureThreshold", threshold)
        yield Hit(
            where(workload, Place.PROBES, given),
            f"{text}, but the model needs about {need:.0f} s ({why})" + (_WARM if warm else ""),
            remedy,
            _threshold(probe),
            # What a fast network or the files of the start before could make good is a risk, not a contradiction.
            severity=Severity.WARNING if warm or given.get() >= sure else None,
            fixes=fixes,
            also=((None, f"{container.path}.startupProbe"),) if probe.kind != "startup" else (),
        )


_WARM = "; what is downloaded stays on a volume, so the container is killed until it is whole, and then starts"


def _large(workload: Workload, probe: Probe, given: Fact[float]) -> Iterable[Hit]:
    """A budget that even the fastest source cannot meet; how fast the own one is, nobody states, so it is a risk."""
    size = weights(workload)
    if size is None or workload.engine.load_seconds.known:
        return
    fastest = container_seconds(workload).low
    if given.get() < fastest:
        text = f"the {probe.kind} probe gives {given.get():g} s, but {size.origin} take {fastest:.0f} s even from the fastest source"
        remedy = f"add a startupProbe whose periodSeconds x failureThreshold is {math.ceil(fastest * 2 / 60) * 60} or more"
        yield Hit(where(workload, Place.PROBES, given), text, remedy, _threshold(probe), severity=Severity.WARNING)


def _impatient(workload: Workload, container: Container, probe: Probe, given: Fact[float]) -> Iterable[Hit]:
    """The liveness probe gives up before the readiness probe does, as far as the author's own numbers say."""
    ready = container.probes.get("readiness")
    patience = budget(ready) if ready and ready.failure_threshold.known else Fact()
    if probe.kind != "liveness" or not patience.known or patience.get() <= given.get():
        return
    text = f"readiness waits {patience.get():g} s for the engine to load, but liveness kills it after {given.get():g} s"
    period = max(float(probe.period.default(10).get()), 1)
    remedy = f"add a startupProbe with periodSeconds {period:g} and failureThreshold {math.ceil(patience.get() / period)}"
    yield Hit(where(workload, Place.PROBES, given), text, remedy, _threshold(probe), severity=Severity.WARNING)


_NEVER_FAILS = re.compile(r"(?:exit 0|(?:/(?:usr/)?bin/)?true|:|(?:/(?:usr/)?bin/)?echo\b[^;&|]*);?")


def _cannot_fail(probe: Probe) -> bool:
    """Whether a probe runs a command that succeeds whatever the engine does."""
    words = probe.command.get() if probe.command.known else ()
    shell = len(words) > 2 and words[0].rsplit("/", 1)[-1] in ("sh", "bash", "dash", "ash")
    text = words[-1] if shell else " ".join(words)
    return bool(words) and _NEVER_FAILS.fullmatch(text.strip()) is not None


_PROBED = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod", "LeaderWorkerSet", "Rollout")
# Chart values whose switches say that no probe is on.
_VALUES = ("Values", "HelmRelease", "HelmChart", "Application", "Kustomization")


@rule(
    "ROLL-008",
    Severity.WARNING,
    demand="An engine that serves has probes.",
    reason="Without readiness every rollout sends requests to an engine that still loads; without liveness a hung one stays.",
    source="Kubernetes documentation, 'Configure Liveness, Readiness and Startup Probes'",
    remedy="Add startup, readiness and liveness probes on /health.",
    fault="probe-none",
    links=("https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",),
)
def some_probe(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if "probes" in workload.operator_adds or workload.origin.kind not in _PROBED + _VALUES or workload.ray is not None:
        return
    for pod, container in engine_containers(workload):
        if pod.role in ("", "leader") and not container.probes and not _beside(pod):
            text = "the engine's container has no probe: it gets traffic while it loads, and a hung engine keeps it"
            remedy = "add startupProbe, readinessProbe and livenessProbe on /health"
            yield Hit(where(workload, Place.PROBES), text, remedy)


def _beside(pod: Pod) -> bool:
    """A sidecar that carries the probes for the engine (a routing proxy)."""
    return any(container.role is Role.SIDECAR and container.probes for container in pod.containers)


@rule(
    "ROLL-009",
    Severity.WARNING,
    demand="An engine gets traffic only when it is ready for it.",
    reason="A running container counts as ready at once; loading takes minutes.",
    source="Kubernetes documentation, 'Pod Lifecycle' (container probes)",
    remedy="Add a readinessProbe.",
    links=("https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-probes",),
)
def readiness(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if "probes" in workload.operator_adds or workload.origin.kind not in _PROBED:
        return
    for pod, container in engine_containers(workload):
        started = container.probes.get("startup")
        if container.probes and "readiness" not in container.probes and not started and pod.role in ("", "leader") and not _beside(pod):
            text = "probes, but none for readiness: the Service sends requests to a pod that still loads its model"
            yield Hit(where(workload, Place.PROBES), text, "add a readinessProbe on /health")


@rule(
    "ROLL-014",
    Severity.WARNING,
    demand="A probe begins within a reasonable time.",
    reason="A long initial delay is always waited in full, also when the engine is ready or dead after a minute.",
    source="Kubernetes documentation, 'Configure Liveness, Readiness and Startup Probes' (startup probes)",
    remedy="Use a startupProbe.",
    fault="probe-absurd-delay",
    settings={"most_seconds": 1200},
)
def absurd_delay(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        for probe in container.probes.values():
            delay = probe.initial_delay
            if delay.known and delay.get() >= float(settings["most_seconds"]):
                text = f"the {probe.kind} probe begins after {delay.get():g} s: until then nothing is seen, ready or dead"
                remedy = "use a startupProbe with many tries instead of a long delay"
                yield Hit(delay.path or probe.path, text, remedy, f"{delay.get():g}")


@rule(
    "ROLL-016",
    Severity.WARNING,
    demand="A probe can fail.",
    reason="An engine that never starts, or hangs, keeps its GPUs and its place for hours.",
    source="Kubernetes documentation, 'Configure Liveness, Readiness and Startup Probes'",
    remedy="Ask /health, with numbers that end within an hour.",
    fault="probe-disabled",
    settings={"most_seconds": 36000},
)
def switched_off(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        for probe in container.probes.values():
            given = budget(probe)
            if _cannot_fail(probe):
                said = " ".join(probe.command.get())
                text = f"the {probe.kind} probe runs {said!r}, which succeeds whatever the engine does: a dead one is never seen"
                yield Hit(probe.path, text, "ask /health of the engine's port", said[:80])
            elif given.known and given.get() >= float(settings["most_seconds"]):
                text = f"the {probe.kind} probe fails after {given.get() / 3600:g} h: it is as good as off"
                yield Hit(where(workload, Place.PROBES, given), text, "choose numbers that end within an hour", _threshold(probe))


@rule(
    "ROLL-015",
    Severity.INFO,
    demand="The liveness probe does not kill a busy engine.",
    reason="/health shares the event loop with the API; a restart loses every running request and minutes of loading.",
    source="vllm/entrypoints/openai/api_server.py; Kubernetes documentation, 'Pod Lifecycle'",
    remedy="Give it at least a minute.",
    settings={"least_seconds": 30},
)
def liveness_patience(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        probe = container.probes.get("liveness")
        if probe is None or not probe.silence.absent or not probe.failure_threshold.default(3).known or not probe.period.default(10).known:
            continue
        window = probe.failure_threshold.default(3).get() * probe.period.default(10).get()
        if window < float(settings["least_seconds"]):
            text = f"the engine is killed after {window:g} s without an answer; a long prefill or a compile can keep it busy for longer"
            tries = math.ceil(float(settings["least_seconds"]) / max(probe.period.default(10).get(), 1))
            remedy = f"set failureThreshold to {tries} or more (times periodSeconds, at least {settings['least_seconds']:g} s)"
            yield Hit(probe.path, text, remedy, f"{window:g}", fixes=put(f"{probe.path}.failureThreshold", tries))


READY = "VLLM_ENGINE_READY_TIMEOUT_S"


@rule(
    "ROLL-017",
    Severity.WARNING,
    demand="The engine gives itself the time that its model needs to get ready.",
    reason="The API server waits no longer for its engine core: it ends with a timeout, and the pod restarts forever the same way.",
    source="vllm/v1/engine/core_client.py (the poll of the input sockets), vllm/envs.py",
    remedy="Leave the variable out, or raise it above the start-up time.",
)
def patience_of_the_engine(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if comes_later(READY, str(workload.engine.version.value or "")) or weights(workload) is None:
        return
    need, fastest = container_seconds(workload), workload.engine.least_load_seconds
    for _, container in engine_containers(workload):
        given, probe = container.env.get(READY, Fact()).map(float), killing_probe(container)
        first = budget(probe) if probe else Fact()
        earlier = first.known and given.known and first.get() <= given.get()  # then ROLL-001 tells it
        if given.known and given.get() < need.likely and not earlier:
            enough = patient_seconds(workload)
            text = f"the engine gives itself {given.get():g} s to get ready, but the model needs about {need.likely:.0f} s"
            remedy = f"set {READY} to at least {enough}, or remove it"
            # What a fast source could make good is a risk, not a contradiction; without a plan the model's size is a guess.
            level = Severity.ERROR if fastest.known and given.get() < fastest.get() else None
            yield Hit(given.path, text, remedy, f"{given.get():g}", severity=level, fixes=put(given.path, str(enough)))
