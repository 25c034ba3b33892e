"""Shared cards and MIG: what a card holds, that a layout exists, and which engines may share."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from interlock.infra.catalog.gpus import gpu
from interlock.infra.catalog.placements import layout_problem
from interlock.infra.facts import Autoscaler, Bundle, Fact, Origin, Place, Pool, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.checkpoint import params_in_name
from interlock.infra.rules.reading.planner import sized
from interlock.infra.rules.reading.units import accelerators, counted, engine_containers, shared_cards, size_of, where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.values import GIB, gib

_PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus"

MIG_PREFIX = "nvidia.com/mig-"
UTILIZATION = "gpu-memory-utilization"
POOL_FLAG = "kv-cache-memory-bytes"


@dataclass(frozen=True, slots=True)
class Sharer:
    """One pod on a shared card."""

    name: str
    share: float
    """Part of the card that it takes: its utilization, or more where a KV pool of a fixed size goes beyond that."""
    said: Fact[str]
    """The argument that says so; absent where the engine takes its default."""
    origin: Origin


def _sharers(pool: Pool, bundle: Bundle, default: float) -> Iterator[Sharer]:
    for workload in bundle.workloads:
        if not workload.pool.known or workload.pool.get() != pool.name:
            continue
        stated = workload.engine.flag(UTILIZATION).default(str(default)).map(float)
        replicas = workload.replicas.default(1)
        if stated.known and replicas.known:
            most = max(replicas.get(), *(_scaled_to(each, workload) for each in bundle.autoscalers), 0)
            pool_part = _with_its_pool(workload, bundle)
            said = workload.engine.flag(POOL_FLAG if pool_part > stated.get() else UTILIZATION)
            share = max(stated.get(), pool_part)
            yield from [Sharer(workload.origin.name, share, said, workload.origin)] * min(most, 64)


def _with_its_pool(workload: Workload, bundle: Bundle) -> float:
    """Part of the card for weights, overheads and a KV pool of a fixed size, at the low end; 0 where it cannot be told."""
    found = sized(workload, bundle) if workload.engine.flag(POOL_FLAG).known else None
    if found is None or found.total_gib is None:
        return 0.0
    return sum(term.gib.low for term in found.terms if term.name != "outside") / found.total_gib.high


def _scaled_to(scaler: Autoscaler, workload: Workload) -> int:
    mine = scaler.target.known and scaler.target.get() == workload.origin.name
    return scaler.max_replicas.get() if mine and scaler.max_replicas.known else 0


@rule(
    "GPU-101",
    Severity.ERROR,
    demand="The engines that may meet on a shared card take together no more of its memory than it has.",
    reason="Every engine reserves its part when it starts; the one that comes last finds too little free memory and refuses to start.",
    source="vllm/v1/worker/utils.py, request_memory; two engines of 0.9 on one H200: the second stopped with 13.4 of 139.8 GiB free",
    remedy="Lower gpu_memory_utilization, or make fewer shares.",
    links=(_PLUGIN,),
    settings={"default_utilization": 0.92, "gone_gib": 0.7},
    of="bundle",
)
def card_holds_its_engines(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.pools:
        if not (pool.sharing.known and pool.sharing.get() in ("time-slicing", "mps") and pool.shares.known):
            continue
        meeting = sorted(_sharers(pool, bundle, float(settings["default_utilization"])), key=lambda each: -each.share)[: pool.shares.get()]
        total, holds, gone = sum(each.share for each in meeting), *_holds(pool, settings)
        if total > holds + 1e-9:
            shown = [(round(each.share, 3), each.name) for each in meeting]
            sums = f"{' + '.join(f'{share:g} ({name})' for share, name in shown)} = {round(sum(share for share, _ in shown), 3):g}"
            text = f"{len(meeting)} engines may meet on one card and take {sums} of it, but {holds:.2f} is usable ({gone})"
            part = int(100 * holds / len(meeting)) / 100
            remedy = f"lower gpu_memory_utilization (and a fixed KV pool) to {part} of the card each, or make fewer shares of a card"
            yield _where_it_is_said(meeting, pool, part, text, remedy)


def _where_it_is_said(meeting: Sequence[Sharer], pool: Pool, part: float, text: str, remedy: str) -> Hit:
    """At the argument of the engine that asks for more than an even part; at the pool's shares where none says anything."""
    greedy = next((each for each in meeting if each.share > part and each.said.known and each.said.path), None)
    if greedy:
        return Hit(greedy.said.path, text, remedy, greedy.said.get(), origin=greedy.origin)
    return Hit(pool.shares.path or pool.origin.path or pool.name, text, remedy, str(pool.shares.get()), origin=pool.origin)


def _holds(pool: Pool, settings: Settings) -> tuple[float, str]:
    gone = float(settings["gone_gib"]) * GIB
    if pool.gpu_memory.known:
        whole = pool.gpu_memory.get()
        return (whole - gone) / whole, f"{gib(whole)} less {gib(gone)} that is gone before any engine starts"
    return 0.97, "3 % are gone before any engine starts"


@rule(
    "GPU-102",
    Severity.WARNING,
    demand="An engine on a shared card has a KV pool of a fixed size.",
    reason="Engines that start together count each other's growing memory as their own; the pool then differs from start to start.",
    source="measured on one H200, two engines of 0.45: 47.3 GiB of KV each when started in turn, 30.9 and 15.7 GiB together",
    remedy="Set --kv-cache-memory-bytes.",
    links=(_PLUGIN,),
    ours=Severity.ERROR,
)
def fixed_pool(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    how = shared_cards(workload, bundle)
    cpu_pool = "VLLM_CPU_KVCACHE_SPACE" in workload.engine.env
    if not how or cpu_pool or not workload.engine.flag(POOL_FLAG).absent or not list(engine_containers(workload)):
        return
    text = f"the card is shared ({how}) and the KV pool has no fixed size, so it is whatever is left when the engine happens to look"
    remedy = f"set --{POOL_FLAG}; a plan sets it where the model's size is known and fits its share"
    yield Hit(where(workload, Place.ARGS), text, remedy)


@rule(
    "GPU-103",
    Severity.INFO,
    demand="A container asks for exactly one share of a card.",
    reason="Two shares give no more than one; with failRequestsGreaterThanOne the pod ends with UnexpectedAdmissionError.",
    source="NVIDIA/k8s-device-plugin README, 'Shared Access to GPUs'",
    remedy="Ask for one share, or for whole cards.",
    links=(_PLUGIN,),
    ours=Severity.ERROR,
)
def one_share(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    how = shared_cards(workload, bundle)
    if not how:
        return
    for _, container in engine_containers(workload):
        units = counted(container)
        if units and units.count.known and units.count.get() > 1:
            count = int(units.count.get())
            text = f"{count} shares of {units.resource} are requested, but shares do not add up: they may be of one card or of {count}"
            remedy = f"ask for 1 share, or put the server on a pool with whole cards and ask for {count}"
            also = ((None, workload.engine.tensor_parallel.path),)
            yield Hit(units.count.path or where(workload, Place.GPUS), text, remedy, str(count), also=also)


@rule(
    "GPU-104",
    Severity.ERROR,
    demand="A MIG layout is one that the pool's card can be cut into.",
    reason="The MIG manager fails on the node, which is drained by then and stays without GPUs.",
    source="NVIDIA MIG user guide, 'Supported MIG Profiles' and nvidia-smi mig -lgipp; NVIDIA/mig-parted",
    remedy="Choose a profile and a count that the card has.",
    links=("https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html",),
    of="bundle",
)
def layout_exists(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.pools:
        if not pool.sharing.known or pool.sharing.get() != "mig":
            continue
        card = gpu(pool.gpu.get()) if pool.gpu.known else None
        if card is None:
            continue
        path, profile = pool.sharing.path.removesuffix(".kind") or pool.origin.path, pool.resource.removeprefix(MIG_PREFIX)
        if card.geometry is None:
            text, remedy = f"{card.name} cannot be cut into MIG instances", "share it by time-slicing, or choose a card with MIG"
            yield Hit(path, text, remedy, profile, origin=pool.origin)
            continue
        problem = layout_problem(card.geometry, {profile: pool.shares.get() if pool.shares.known else 1})
        if problem:
            offers = ", ".join(f"{each.name} x {each.max_count}" for each in card.geometry.profiles)
            yield Hit(path, problem, f"one card of {card.name} can be {offers}", profile, origin=pool.origin)


@rule(
    "GPU-105",
    Severity.ERROR,
    demand="An engine on MIG instances runs on one of them.",
    reason="CUDA shows a process one MIG instance only, and instances have no peer access: ranks cannot form a group.",
    source="NVIDIA MIG user guide, 'CUDA Device Enumeration' and 'Application Considerations' (no P2P, one instance per process)",
    remedy="Choose a larger profile or whole cards.",
    links=("https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",),
)
def no_parallel_slices(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    slices = [
        units
        for _, container in engine_containers(workload)
        for units in accelerators(container)
        if (units.vendor, units.unit) == ("nvidia", "slice") and not (units.count.known and units.count.get() == 0)
    ]
    tensor, pipeline = size_of(workload, workload.engine.tensor_parallel), size_of(workload, workload.engine.pipeline_parallel)
    if slices and tensor.known and pipeline.known and tensor.get() * pipeline.get() > 1:
        text = f"TP {tensor.get()} x PP {pipeline.get()} on {slices[0].resource}: MIG instances have no peer access, and a process sees one"
        remedy = "set both to 1 and choose a larger profile, or whole cards"
        yield Hit(where(workload, Place.TENSOR_PARALLEL, tensor), text, remedy, str(tensor.get()))


@rule(
    "GPU-106",
    Severity.WARNING,
    demand="Large models do not share a card.",
    reason="Time-slices take turns: a large model's steps are long, so every neighbour's tokens wait for them.",
    source="field practice: above 13B never; NVIDIA/k8s-device-plugin README: no proportional compute",
    remedy="Give large models whole cards.",
    links=(_PLUGIN,),
    settings={"most_billions": 13},
    ours=Severity.ERROR,
)
def size_for_a_share(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    how = shared_cards(workload, bundle)
    params = _billions(workload)
    if not how or params is None:
        return
    most = float(settings["most_billions"])
    path, name = where(workload, Place.MODEL, workload.engine.model), str(workload.engine.model.value or "")
    if params > most:
        text = f"a model of {params:g}B parameters on a share of a card ({how}); above {most:g}B each engine needs a whole one"
        yield Hit(path, text, "put it on a pool with whole cards, or on a MIG profile that holds it", name)


@rule(
    "GPU-108",
    Severity.WARNING,
    demand="A model of middle size shares a card only where its neighbours' latency was measured.",
    reason="A step of a larger model takes longer, and the neighbours wait for it; no share of compute is guaranteed.",
    source="field practice: up to 7B may share; NVIDIA/k8s-device-plugin README: no proportional compute",
    remedy="Measure the latency with all neighbours busy, or give the model a whole card.",
    links=(_PLUGIN,),
    settings={"advised_billions": 7, "most_billions": 13},
)
def middle_size_on_a_share(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    how, params, advised = shared_cards(workload, bundle), _billions(workload), float(settings["advised_billions"])
    if how and params is not None and advised < params <= float(settings["most_billions"]):
        path, name = where(workload, Place.MODEL, workload.engine.model), str(workload.engine.model.value or "")
        text = f"a model of {params:g}B parameters on a share of a card ({how}); above {advised:g}B its neighbours wait for its prefills"
        yield Hit(path, text, "measure the latency with all neighbours busy, or give it a whole card", name)


def _billions(workload: Workload) -> float | None:
    """Parameters in 1e9: from the name, else from 16-bit weights of a known size."""
    engine = workload.engine
    named = params_in_name(engine.model.get()) if engine.model.known else None
    if named is not None:
        return named
    stated = engine.quantization
    plain = stated.absent or stated.value in ("none", None)
    return engine.weight_bytes.get() / 2e9 if engine.weight_bytes.known and plain else None


@rule(
    "GPU-107",
    Severity.WARNING,
    demand="A card is shared by two to four engines.",
    reason="Each further engine adds its own context, weights and graphs, and makes every other one wait longer.",
    source="NVIDIA/k8s-device-plugin README, 'With CUDA Time-Slicing'; 0.5 to 0.7 GiB per context measured on an H200",
    remedy="Use fewer shares.",
    links=(_PLUGIN,),
    settings={"advised": 4},
    of="bundle",
)
def few_shares(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    most = int(settings["advised"])
    for pool in bundle.pools:
        shared = pool.sharing.known and pool.sharing.get() in ("time-slicing", "mps")
        if shared and pool.shares.known and pool.shares.get() > most:
            count = pool.shares.get()
            memory: Fact[int] = pool.gpu_memory
            each = f", {gib(memory.get() / count)} of memory for each" if memory.known else ""
            text = f"{count} shares of one card{each}; {most} or fewer are advised"
            yield Hit(pool.shares.path or pool.origin.path or pool.name, text, f"use 2 to {most} shares", str(count), origin=pool.origin)
