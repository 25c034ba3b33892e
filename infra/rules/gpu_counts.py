"""GPU counts: what a replica's engine uses and what its pods ask for."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from interlock.infra.facts import Bundle, Fact, Place, Role, Workload, known
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.reading.planner import facts_of, refused
from interlock.infra.rules.reading.units import (
    COUNTED_VENDORS,
    accelerators,
    counted,
    engine_containers,
    number,
    pod_count,
    pod_units,
    pods_text,
    replica_units,
    shared_cards,
    size_of,
    where,
)
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.sizing.refusals.parallel import heads_problem
from interlock.infra.values import plural

_SPREAD_FLAGS = (
    "data-parallel-rank",
    "data-parallel-start-rank",
    "data-parallel-external-lb",
    "data-parallel-hybrid-lb",
    "headless",
    "nnodes",
)


def _sizes(workload: Workload) -> list[tuple[str, Fact[int]]]:
    engine = workload.engine
    return [
        ("TP", size_of(workload, engine.tensor_parallel)),
        ("PP", size_of(workload, engine.pipeline_parallel)),
        ("PCP", engine.prefill_context_parallel.default(1)),
        ("DP", size_of(workload, engine.data_parallel)),
    ]


def _product(sizes: list[tuple[str, Fact[int]]]) -> tuple[int, str]:
    world = 1
    for _, size in sizes:
        world *= size.get()
    shown = [f"{name} {size.get()}" for name, size in sizes if name in ("TP", "PP") or size.get() != 1]
    return world, " x ".join(shown)


@rule(
    "GPU-001",
    Severity.ERROR,
    demand="The GPUs of a replica's pods equal TP x PP x PCP x DP.",
    reason="With too few, vLLM stops at start-up because the world size exceeds the visible GPUs; with too many, the rest idles.",
    source="vllm/config/parallel.py (world_size), vllm/v1/executor; GitM-Labs/runtime#76",
    remedy="Make the GPU request and the parallel sizes the same number.",
    fault="tp-mismatch",
    links=("https://docs.vllm.ai/en/latest/serving/parallelism_scaling/",),
    ours=Severity.ERROR,
)
def gpus_of_a_replica(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    units = replica_units(workload)
    if units.absent or "gpus" in workload.operator_adds:
        return
    if workload.vendor.known and workload.vendor.get() not in COUNTED_VENDORS:
        return
    yield from _beside_the_engine(workload)
    sizes = _sizes(workload)
    if workload.engine.listed and not workload.engine.complete and units.known and len(workload.pods) == 1:
        yield from _as_listed(workload, bundle, sizes, units)
        return
    open_sizes = [name for name, size in sizes if not size.known]
    path = where(workload, Place.GPUS, units)
    if not units.known or open_sizes:
        open_facts = [size.why for _, size in sizes if size.unknown] + ([units.why] if not units.known else [])
        stated_unknown = not units.known or any(workload.engine.flag(flag).unknown for flag in _SIZE_FLAGS)
        if stated_unknown:
            what = "the GPU count" if not units.known else " and ".join(open_sizes)
            why = next((text for text in open_facts if text), "not readable here")
            summary = f"{what} cannot be read ({why}), so GPUs and parallel sizes were not compared"
            yield Hit(path, summary, "state the numbers where a reader sees them", severity=Severity.INFO, detail="Undecided, not wrong.")
        return
    yield from _compare(workload, bundle, sizes, units)


def _beside_the_engine(workload: Workload) -> Iterable[Hit]:
    """Cards that other containers ask for, in a pod that was planned for a pool: the plan counts the engine's alone."""
    for pod in workload.pods if workload.pool.known else ():
        asked = pod_units(workload, pod)
        for each in pod.containers:
            units = counted(each) if each.role is not Role.ENGINE else None
            own = sum(int(found.count.value or 0) for engine in pod.engines() if (found := counted(engine)))
            if units is None or units.claim != ("", "") or not asked.known or asked.get() <= own:
                continue
            text = f"container {each.name} asks for {units.count.get():g} beside the engine: {plural(asked.get(), 'GPU')} for a pod"
            remedy = f"remove {units.resource} from {each.name}"
            yield Hit(units.count.path, f"{text}, where the plan counts {own}", remedy, f"{units.count.get():g}")


def _as_listed(workload: Workload, bundle: Bundle, sizes: list[tuple[str, Fact[int]]], units: Fact[int]) -> Iterable[Hit]:
    """The comparison where only the image's entrypoint is not known: it may add a size, so idle GPUs are all that can be said."""
    if any(flag.name in _SIZE_FLAGS and not flag.value.known for flag in workload.engine.flags):
        return
    named = [(name, size if size.known else known(1)) for name, size in sizes]
    for hit in _compare(replace(workload, engine=replace(workload.engine, complete=True)), bundle, named, units):
        if hit.fault == "gpu-wasted":
            yield replace(hit, summary=f"{hit.summary} (unless the image's own entrypoint sets a size)")


_MOST_RANKS = 1024
_SIZE_FLAGS = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")


def _compare(workload: Workload, bundle: Bundle, sizes: list[tuple[str, Fact[int]]], units: Fact[int]) -> Iterable[Hit]:
    world, product = _product(sizes)
    asked, path = units.get(), where(workload, Place.GPUS, units)
    if world == asked or world < 1 or asked < 1:
        return
    shares = shared_cards(workload, bundle)
    spelled = pods_text(workload) if len(workload.pods) > 1 else ""
    sums = f"{product} = {plural(world, 'GPU')}, but the replica asks for {asked}" + (f" ({spelled})" if spelled else "")
    if shares:
        text = f"{sums}; the resource counts {shares} shares of a card, so the parallel sizes cannot be compared with it"
        yield Hit(path, text, "ask for exactly 1 share and keep TP 1", str(asked), severity=Severity.INFO, fault="tp-count-timesliced")
        return
    if _spread(workload):
        local = _local_world(workload, sizes)
        if local is None or local <= asked:
            return
        world, sums = local, f"the ranks of this pod need {plural(local, 'GPU')}, but it asks for {asked}"
    if world > asked:
        remedy = f"ask for {plural(world, 'GPU')} per replica, or lower the parallel sizes to {asked}"
        yield Hit(path, sums, remedy, str(asked), fault="tp-mismatch", fixes=_ask_for(workload, world), also=_stated(workload, sizes))
    elif not _on_ray(workload):
        remedy = _fewer(workload, bundle, {name: size.get() for name, size in sizes}, asked)
        text = f"{sums}: {asked - world} stay idle"
        detail = "Idle GPUs are paid for and denied to others."
        yield Hit(
            path, text, remedy, str(asked), severity=Severity.WARNING, fault="gpu-wasted", detail=detail, also=_stated(workload, sizes)
        )


def _stated(workload: Workload, sizes: list[tuple[str, Fact[int]]]) -> tuple[tuple[None, str], ...]:
    """Where the parallel sizes stand, or would stand."""
    return tuple((None, path) for path in (*(size.path for _, size in sizes), where(workload, Place.ARGS)) if path)


def _fewer(workload: Workload, bundle: Bundle, sizes: Mapping[str, int], asked: int) -> str:
    """Ways to use what a replica asks for: fewer GPUs, a size that divides the model's heads, or more stages."""
    world = math.prod(sizes.values())
    ways = [f"ask for {world}"]
    each = [pod_units(workload, pod).value or 0 for pod in workload.pods]
    if len(workload.pods) > 1 or pod_count(workload.pods[0]).value != 1:
        per_pod = max(each, default=0)
        ways = [f"make the group {plural(world // per_pod, 'pod')}"] if per_pod and world % per_pod == 0 else []
        per_stage = world // sizes["PP"]
        ways += [f"set --pipeline-parallel-size {asked // per_stage}"] if asked % per_stage == 0 else []
    elif asked % world == 0:
        tensor = asked // world * sizes["TP"]
        heads = facts_of(workload)
        whole = heads is None or heads_problem(heads.attention_heads, heads.kv_heads, tensor) is None
        ways += [f"raise the tensor parallel size to {tensor}"] if whole else []
    return ", or ".join(ways) or f"ask for {plural(world, 'GPU')}"


def _ask_for(workload: Workload, count: int) -> tuple[Fix, ...]:
    """The engine of a one-pod replica asks for ``count`` GPUs wherever it states a number."""
    if len(workload.pods) != 1:
        return ()
    found = [(container, units) for _, container in engine_containers(workload) if (units := counted(container))]
    facts = [each.get(units.resource, Fact()) for container, units in found for each in (container.limits, container.requests)]
    return tuple(Fix(path=fact.path, value=count) for fact in facts if fact.known)


def _on_ray(workload: Workload) -> bool:
    """A Ray cluster may carry several engines, so its GPUs may exceed one engine's."""
    return workload.ray is not None


def _spread(workload: Workload) -> bool:
    """Ranks of this engine run in other objects: the command line names only a part, or joins a Ray cluster elsewhere."""
    if len(workload.pods) > 1:
        return False
    engine = workload.engine
    parts = any(not engine.flag(name).absent for name in _SPREAD_FLAGS) or engine.data_parallel_local.known
    joins = "RAY_ADDRESS" in engine.env or any(problem.kind == "ray-start" for problem in engine.problems)
    backend = engine.flag("distributed-executor-backend")
    return parts or joins or (backend.known and backend.get() == "ray") or pod_count(workload.pods[0]).value != 1


def _local_world(workload: Workload, sizes: list[tuple[str, Fact[int]]]) -> int | None:
    """GPUs of one pod's own ranks where ``--data-parallel-size-local`` says it; None when it cannot be told."""
    local = workload.engine.data_parallel_local
    nodes = workload.engine.flag("nnodes")
    if not local.known or not nodes.absent:
        return None
    by_name = {name: size.get() for name, size in sizes}
    return local.get() * by_name["TP"] * by_name["PP"] * by_name["PCP"]


@rule(
    "GPU-005",
    Severity.ERROR,
    demand="GPU quantities are whole numbers.",
    reason="Extended resources cannot be divided; some charts drop the value silently, and then every pod lands on card 0.",
    source="Kubernetes documentation, 'Extended resources'; vllm-project/production-stack#649, #1047",
    remedy="Ask for 1; share cards with time-slicing, MPS or MIG.",
    links=("https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources",),
)
def whole_numbers(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod in workload.pods:
        for container in pod.containers:
            for units in accelerators(container):
                if units.count.known and units.count.get() != int(units.count.get()):
                    text = f"{units.resource}: {units.count.get():g} is not an integer; the API server refuses that"
                    remedy = "ask for 1 and share the card with time-slicing, MPS or a MIG slice"
                    path = units.count.path or container.path
                    yield Hit(path, text, remedy, f"{units.count.get():g}", fixes=put(path, 1))


@rule(
    "GPU-006",
    Severity.ERROR,
    demand="GPU requests equal GPU limits; a limit alone is enough.",
    reason="The API server refuses extended resources whose request and limit differ, or that have a request without a limit.",
    source="Kubernetes documentation, 'Schedule GPUs'",
    remedy="State the limit only, or both with the same number.",
    links=("https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/",),
)
def requests_equal_limits(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod in workload.pods:
        for container in pod.containers:
            for units in accelerators(container):
                request, limit = container.requests.get(units.resource, Fact()), container.limits.get(units.resource, Fact())
                if limit.absent and request.known and "" not in container.limits:
                    text = f"{units.resource} is requested ({request.get()}) without a limit, which the API server refuses"
                    limits = f'{container.path}.resources.limits["{units.resource}"]'
                    remedy = f"set limits.{units.resource} to {request.get()}"
                    yield Hit(request.path, text, remedy, request.get(), fixes=put(limits, request.get()), also=((None, limits),))
                elif request.known and limit.known and request.map(number).value != limit.map(number).value:
                    text = f"{units.resource}: request {request.get()} differs from limit {limit.get()}; the API server refuses that"
                    # A limit of 0 with a request is a mistake in the limit: there the request says what is needed.
                    none = limit.map(number).value == 0
                    remedy = f"set both to {request.get()}" if none else f"set both to {limit.get()}, or remove the request"
                    fixes = put(limit.path, request.get()) if none else drop(request.path)
                    yield Hit(request.path, text, remedy, request.get(), fixes=fixes, also=((None, limit.path),))


@rule(
    "GPU-002",
    Severity.ERROR,
    demand="The tensor parallel size divides the attention heads, and the KV heads divide by it or replicate evenly.",
    reason="vLLM checks this at start-up and raises; a power of two is only advice, the heads decide.",
    source="vllm/config/model.py verify_with_parallel_config; vllm/model_executor/layers/linear.py QKVParallelLinear",
    remedy="Choose a divisor of the heads; use pipeline parallel or more replicas for the other GPUs.",
    links=("https://docs.vllm.ai/en/latest/serving/parallelism_scaling/",),
)
def heads_divide(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    engine, size = workload.engine, workload.engine.tensor_parallel
    if facts_of(workload) is not None:
        yield from refused(workload, bundle, "GPU-002")
    elif size.known and engine.attention_heads.known:
        heads, kv = engine.attention_heads.get(), engine.kv_heads.value or 0
        problem = heads_problem(heads, kv, size.get()) if size.get() > 1 else None
        if problem:
            way = next(tp for tp in range(min(size.get() - 1, heads), 0, -1) if heads_problem(heads, kv, tp) is None)
            yield Hit(where(workload, Place.TENSOR_PARALLEL, size), problem, f"lower --tensor-parallel-size to {way}", str(size.get()))


@rule(
    "GPU-023",
    Severity.ERROR,
    demand="TP cuts the model's widths into whole parts and whole quantization blocks.",
    reason="Every rank aborts while it creates its weights.",
    source="vllm/model_executor/layers/linear.py, quantization/utils; vllm-project/vllm#48173, #54178",
    remedy="Choose a smaller TP; use pipeline parallel or replicas for the other GPUs.",
    links=("https://docs.vllm.ai/en/latest/serving/parallelism_scaling/",),
)
def widths_align(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return refused(workload, bundle, "GPU-023")
