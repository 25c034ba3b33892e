"""Our supervisor around an engine: whether it can drain it, and whether its probe can tell a hang from a long step."""

import math
from collections.abc import Iterable, Iterator

from interlock.infra.facts import Bundle, Fact, Place, Workload
from interlock.infra.facts.supervisor import MIDDLEWARE, SETTINGS
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.net_routes import engines_behind
from interlock.infra.rules.reading.units import engine_containers, switched_on, where
from interlock.infra.rules.roll_drain import api_servers, drain
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule


@rule(
    "ROLL-018",
    Severity.ERROR,
    demand="A supervised engine loads the supervisor's middleware.",
    reason="Without it nothing counts requests, so a drain would lose them: the supervisor does not start the engine.",
    source="runtime/supervise/command.py; vLLM 0.32 vllm/envs.py VLLM_USE_RUST_FRONTEND, vllm serve --grpc: neither loads middleware",
    remedy="Keep vLLM's own HTTP server and the middleware, or switch the supervisor off (runtime.supervised: false).",
)
def middleware(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    engine = workload.engine
    if engine.supervisor is None:
        return
    rust = engine.env.get("VLLM_USE_RUST_FRONTEND", Fact())
    if switched_on(rust):
        text = "VLLM_USE_RUST_FRONTEND serves by another program, which loads no middleware: the supervisor does not start it"
        yield Hit(rust.path, text, "remove VLLM_USE_RUST_FRONTEND", str(rust.get()), fixes=drop(rust.path))
    grpc = engine.flag("grpc")
    if grpc.known and str(grpc.get()).lower() not in ("false", "0"):
        text = "--grpc serves without the middleware: nothing counts its requests, and a drain loses them"
        yield Hit(where(workload, Place.ARGS, grpc), text, "remove --grpc", fixes=drop(where(workload, Place.ARGS, grpc), flag="grpc"))
    for _, container in engine_containers(workload):
        folders = [mount.mount_path.rstrip("/") for mount in container.mounts]
        if container.path and engine.supervisor.folder and engine.supervisor.folder not in folders:
            text = f"nothing is mounted at {engine.supervisor.folder}, from where the supervisor is run: the container does not start"
            yield Hit(f"{container.path}.volumeMounts", text, f"mount the volume of the supervisor at {engine.supervisor.folder}")
    named = [each.value.value for each in engine.flags if each.name == "middleware"]
    if engine.complete and engine.flag("headless").absent and MIDDLEWARE not in named:
        text = f"--middleware {MIDDLEWARE} is missing: the supervisor does not start the engine"
        yield Hit(where(workload, Place.ARGS), text, f"add --middleware {MIDDLEWARE}")


@rule(
    "ROLL-019",
    Severity.ERROR,
    demand="A supervised engine with several API servers reports its steps.",
    reason="With --disable-log-stats their statistics loggers are not called: no heartbeat, and the supervisor does not start it.",
    source="runtime/supervise/command.py; measured on vLLM 0.32",
    remedy="Remove --disable-log-stats, or keep one API server.",
)
def heartbeat(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    off, count = workload.engine.flag("disable-log-stats"), api_servers(workload)
    if workload.engine.supervisor is None or not switched_on(off) or not count.known or count.get() < 2:
        return
    path = where(workload, Place.ARGS, off)
    text = f"--disable-log-stats with {count.get()} API servers: no step is reported, and a hang would not be seen"
    yield Hit(path, text, "remove --disable-log-stats", fixes=drop(path, flag="disable-log-stats"))


@rule(
    "ROLL-020",
    Severity.WARNING,
    demand="The silence that counts as a hang is longer than the engine's longest step.",
    reason="A step that compiles a kernel or reads a long prompt is silent, too: the probe would restart a healthy engine.",
    source="infra/sizing/step.py (an upper bound); docs/runtime.md",
    remedy="Raise the limit of the liveness probe, and the supervisor's hang_seconds with it.",
    settings={"least_seconds": 60},
)
def silence(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    predicted = workload.engine.longest_step
    need = predicted.get() if predicted.known else float(settings["least_seconds"])
    for _, container in engine_containers(workload):
        for probe in container.probes.values():
            limit = probe.silence
            if not limit.known or limit.get() >= need:
                continue
            why = "the planner's upper bound" if predicted.known else "a kernel that is compiled at its first use"
            text = f"{limit.get():g} s without a step count as a hang, but a step may take {need:g} s ({why})"
            told = _told(workload, math.ceil(need))
            remedy = f"allow {math.ceil(need)} s or more" + (f", and hang_seconds {math.ceil(need)} in {SETTINGS}" if told else "")
            yield Hit(limit.path, text, remedy, f"{limit.get():g}", fixes=(*put(limit.path, f"{math.ceil(need)}"), *told))


def _told(workload: Workload, need: int) -> tuple[Fix, ...]:
    """The change of the supervisor's own limit, where one is stated that is too short."""
    supervisor = workload.engine.supervisor
    if supervisor is None or not supervisor.hang.known or not 0 < supervisor.hang.get() < need:
        return ()
    return put(supervisor.hang.path, need)


def _longest(bundle: Bundle) -> tuple[float | None, str]:
    """The longest answer and its words: a stated one, else what the engines' routes let through, else what the engines wait for."""
    routes = [route for route in bundle.routes if engines_behind(route, bundle)]
    stated = [route.longest_answer for route in routes]
    allowed = [route.read_timeout for route in routes]
    waited = [drain(workload) for workload in bundle.workloads]
    answer = "an answer may take {:g} s"
    for facts, words in ((stated, answer), (allowed, answer), (waited, "the engine waits {:g} s for its answers at a stop")):
        known = [fact.get() for fact in facts if fact.known and fact.get() > 0]
        if known:
            return max(known), words
    return None, "answers of {:g} s are usual"


@rule(
    "ROLL-021",
    Severity.WARNING,
    demand="Every part between clients and engines waits for the longest answer when it ends.",
    reason="A router, a gateway or an old cluster that ends cuts the answers that still run through it, however patient the engine is.",
    source="infra/catalog/drains.json, a source for each part",
    remedy="Raise the part's own drain to the longest answer.",
    settings={"answer_seconds": 600},
    of="bundle",
)
def path(bundle: Bundle, settings: Settings) -> Iterator[Hit]:
    if not bundle.workloads:
        return
    said, words = _longest(bundle)
    longest = float(settings["answer_seconds"]) if said is None else said
    for part in bundle.drains:
        wait = part.seconds.default(part.default)
        if not wait.known or wait.get() >= longest:
            continue
        stated = "" if part.seconds.known else " by default"
        text = f"{part.part}: {part.setting} is {wait.get():g} s{stated}, and {words.format(longest)}"
        level = None if said is not None else Severity.INFO
        remedy = f"raise {part.setting} to {longest:g} s or more"
        yield Hit(part.path, text, remedy, f"{wait.get():g}", severity=level, origin=part.origin)
