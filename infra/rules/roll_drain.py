"""Shutdown: whether running requests end before the container is killed."""

import math
from collections.abc import Iterable

from interlock.infra.catalog.versions import since
from interlock.infra.facts import Bundle, Fact, Place, Workload, known
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_routes import engines_behind
from interlock.infra.rules.reading.units import engine_containers, where
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.values import seconds


def _shutdown(workload: Workload) -> Fact[float]:
    return workload.engine.flag("shutdown-timeout").map(seconds)


def drain(workload: Workload) -> Fact[float]:
    """Seconds that running requests get at a stop: by our supervisor, else by the engine's own shutdown timeout."""
    supervisor = workload.engine.supervisor
    return supervisor.drain if supervisor else _shutdown(workload)


def _stop(workload: Workload) -> tuple[Fact[float], str]:
    """Seconds from SIGTERM to the end of the engine, and the words for the last of what they are made of."""
    supervisor = workload.engine.supervisor
    if supervisor is None:
        return _shutdown(workload), "shutdown timeout"
    if not (supervisor.drain.known and supervisor.teardown.known):
        return supervisor.drain if supervisor.teardown.known else supervisor.teardown, ""
    text = f"drain {supervisor.drain.get():g} s + teardown"
    return known(supervisor.drain.get() + supervisor.teardown.get(), supervisor.drain.path), text


@rule(
    "ROLL-010",
    Severity.ERROR,
    demand="preStop, the stop (the engine's shutdown timeout, or its supervisor's drain and teardown) and 10 s fit the grace period.",
    reason="The kubelet counts preStop into the grace period and then kills the container: requests that were to finish are cut.",
    source="Kubernetes documentation, 'Pod Lifecycle' (termination); vllm serve --shutdown-timeout; kserve/kserve#5496; docs/runtime.md",
    remedy="Raise terminationGracePeriodSeconds.",
    links=("https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination",),
    settings={"margin_seconds": 10},
    ours=Severity.ERROR,
)
def grace(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    (ending, words), supervisor, margin = _stop(workload), workload.engine.supervisor, float(settings["margin_seconds"])
    for pod, container in engine_containers(workload):
        patience = pod.grace_period.default(30)
        waits = container.pre_stop.default(0)
        if not patience.known or not waits.known or (waits.get() == 0 and not (ending.known and ending.get() > 0)):
            continue
        # A worker without an API server has no requests of its own: it waits for its leader's, by preStop or by its supervisor.
        waiting = pod.role in ("", "leader") or bool(container.probes) or supervisor is not None
        stop = ending.get() if ending.known and waiting else 0.0
        need = waits.get() + stop
        if need + margin <= patience.get() and (need < patience.get() or need == 0):
            continue
        level = Severity.ERROR if need > patience.get() else Severity.WARNING
        last = stop - (supervisor.drain.value or 0) if supervisor and stop else stop
        sums = f"preStop {waits.get():g} s + {words} {last:g} s = {need:g} s"
        text = f"{sums}, but the container is killed after {patience.get():g} s"
        if level is Severity.WARNING:
            text = f"{sums} leaves less than {margin:g} s of the grace period of {patience.get():g} s"
        remedy = f"set terminationGracePeriodSeconds to at least {need + margin:g}"
        path = pod.grace_period.path or where(workload, Place.GRACE_PERIOD)
        yield Hit(path, text, remedy, f"{patience.get():g}", severity=level, fixes=put(path, math.ceil(need + margin)))


@rule(
    "ROLL-011",
    Severity.ERROR,
    demand="A pod that has time to stop lets its engine end the requests it has.",
    reason="--shutdown-timeout 0 (the default) aborts them at SIGTERM, so the grace period and preStop buy nothing for long answers.",
    source="vllm serve --shutdown-timeout (0 by default); vllm-project/vllm#43208; measured on vLLM 0.32",
    remedy="Set --shutdown-timeout to grace period minus preStop minus 10 s.",
    settings={"margin_seconds": 10},
)
def aborts(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    shutdown = _shutdown(workload)
    if not shutdown.known or shutdown.get() > 0 or workload.engine.supervisor is not None:
        return  # a supervisor stops an engine that has nothing to do
    for pod, container in engine_containers(workload):
        planned = container.pre_stop.known and container.pre_stop.get() > 0
        if planned or (pod.grace_period.known and pod.grace_period.get() > 30):
            text = "shutdown timeout 0 aborts every running request at SIGTERM, although the pod has time to drain"
            room = (pod.grace_period.value or 30) - (container.pre_stop.value or 0) - float(settings["margin_seconds"])
            remedy = f"set --shutdown-timeout to {max(room, 30):g} (grace period minus preStop minus {settings['margin_seconds']:g} s)"
            path = where(workload, Place.ARGS, shutdown)
            yield Hit(path, text, remedy, "0", fixes=put(path, max(math.floor(room), 30), flag="shutdown-timeout"))


@rule(
    "ROLL-012",
    Severity.WARNING,
    demand="The engine's shutdown timeout, or its supervisor's drain, outlasts the longest answer, stated or let through by the route.",
    reason="A rollout cuts the longest answers.",
    source="measured on vLLM 0.32: unfinished requests end with the shutdown timeout; docs/runtime.md",
    remedy="Bound the route's timeout, or raise the shutdown timeout (with a supervisor, drain_seconds).",
    of="bundle",
)
def gateway(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    short = [hit for workload in bundle.workloads for hit in _below_the_stated(workload)]
    yield from short
    told = [hit.origin for hit in short]
    for route in bundle.routes:
        if not route.read_timeout.known:
            continue
        for workload in engines_behind(route, bundle):
            if workload.origin in told:
                continue
            shutdown = drain(workload)
            longest = route.read_timeout.get()
            if shutdown.known and shutdown.get() > 0 and (longest <= 0 or longest > shutdown.get()):
                allowed = "an answer of any length" if longest <= 0 else f"an answer of {longest:g} s"
                text = f"the route lets {allowed} through, but at a stop the engine waits {shutdown.get():g} s"
                setting = "drain_seconds" if workload.engine.supervisor else "--shutdown-timeout"
                remedy = f"raise {setting} (and the grace period) to {longest:g} s" if longest > 0 else "bound the route's timeout"
                yield Hit(where(workload, Place.ARGS, shutdown), text, remedy, f"{shutdown.get():g}", origin=workload.origin)


def _below_the_stated(workload: Workload) -> Iterable[Hit]:
    """A drain shorter than the answer that clients were promised: no less certain than one that the grace period cuts."""
    waits, longest, supervisor = drain(workload), workload.longest_answer, workload.engine.supervisor
    if not waits.known or not longest.known or waits.get() >= longest.get() or (waits.get() <= 0 and supervisor is None):
        return  # a shutdown timeout of 0 is ROLL-011's
    text = f"an answer may take {longest.get():g} s, but at a stop the engine waits {waits.get():g} s and then cuts it"
    less = f", or let answers take {waits.get():g} s at most (longest_answer_seconds)" if waits.get() else ""
    remedy = f"raise rollout.drain_seconds to {longest.get():g} s{less}"
    path = where(workload, Place.ARGS, waits)
    yield Hit(path, text, remedy, f"{waits.get():g}", severity=Severity.ERROR, origin=workload.origin)


# vllm/entrypoints/cli/serve.py: with these one process per pod (or none) is the default, with the others one for each of its own ranks.
_ONE = ("headless", "data-parallel-external-lb", "data-parallel-rank", "data-parallel-multi-port-external-lb")
_OWN_RANKS = ("data-parallel-hybrid-lb", "data-parallel-start-rank")


def api_servers(workload: Workload) -> Fact[int]:
    """API server processes: what the flag says, else the data-parallel size (since 0.15.0)."""
    engine = workload.engine
    stated = engine.flag("api-server-count").map(int)
    version = engine.release
    if engine.entrypoint == "module":
        return known(1)
    if not stated.absent or version is None or not since("api_servers_per_rank", version):
        return stated
    if any(not engine.flag(name).absent for name in _ONE):
        return stated
    hybrid = any(not engine.flag(name).absent for name in _OWN_RANKS)
    return engine.data_parallel_local if hybrid else engine.data_parallel


@rule(
    "ROLL-013",
    Severity.WARNING,
    demand="A drain by shutdown timeout runs with one API server process.",
    reason="With several, unfinished requests are lost after the whole timeout.",
    source="measured on vLLM 0.32",
    remedy="Keep --api-server-count 1.",
)
def several_servers(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    shutdown, count = _shutdown(workload), api_servers(workload)
    if workload.engine.supervisor is None and shutdown.known and shutdown.get() > 0 and count.known and count.get() > 1:
        told = "" if workload.engine.flag("api-server-count").known else ", one for each data-parallel rank by default"
        text = f"{count.get()} API server processes{told}: at a stop, unfinished requests are lost after the whole timeout"
        path = where(workload, Place.ARGS, count)
        yield Hit(path, text, "set --api-server-count 1", str(count.get()), fixes=put(path, 1, flag="api-server-count"))


@rule(
    "ROLL-023",
    Severity.WARNING,
    demand="A probe's own grace period is longer than preStop.",
    reason="The kubelet takes it for the whole grace and runs preStop inside: 2 s are left of it before the container is killed.",
    source="Kubernetes, pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer, minimumGracePeriodInSeconds)",
    remedy="Raise the probe's terminationGracePeriodSeconds above preStop.",
    settings={"margin_seconds": 10},
)
def probe_grace(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        waits = container.pre_stop
        for probe in container.probes.values():
            patience = probe.grace_period
            if not (waits.known and patience.known) or waits.get() <= 0 or patience.get() > waits.get():
                continue
            need = math.ceil(waits.get() + float(settings["margin_seconds"]))
            text = f"preStop {waits.get():g} s uses up the {probe.kind} probe's grace of {patience.get():g} s: 2 s are left for the engine"
            remedy = f"set the probe's terminationGracePeriodSeconds to at least {need}"
            yield Hit(patience.path, text, remedy, f"{patience.get():g}", fixes=put(patience.path, need))


@rule(
    "ROLL-025",
    Severity.WARNING,
    demand="A pod on spot nodes ends within their notice.",
    reason="The cloud takes the node when the notice is over, whatever the grace period says: answers that still run are lost.",
    source="Amazon EC2 documentation, 'Spot Instance interruptions' (2 minutes); Google Cloud and Azure documentation (30 s)",
    remedy="Shorten the drain, or use nodes that stay.",
    links=("https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html",),
)
def spot(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool = next((each for each in bundle.pools if workload.pool.known and each.name == workload.pool.get()), None)
    if pool is None or not pool.notice.known:
        return
    for pod, _ in engine_containers(workload):
        patience = pod.grace_period.default(30)
        if patience.known and patience.get() > pool.notice.get():
            lost = patience.get() - pool.notice.get()
            text = f"the pod may take {patience.get():g} s to end, and its spot node is gone {pool.notice.get()} s after the notice"
            remedy = f"accept that the last {lost:g} s of a drain are lost, lower the drain to fit, or use nodes that stay"
            path = patience.path or where(workload, Place.GRACE_PERIOD)
            yield Hit(path, text, remedy, f"{patience.get():g}")
            break
