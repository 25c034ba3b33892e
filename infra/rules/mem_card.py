"""GPU memory: whether the model fits, with which context, and beside whom."""

import re
from collections.abc import Iterable
from dataclasses import replace
from math import prod

from interlock.infra.catalog.tables import table
from interlock.infra.facts import Bundle, Fact, Place, Workload, known
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.elsewhere import other_pool
from interlock.infra.rules.reading.planner import card, facts_of, refused, sized, slice_of
from interlock.infra.rules.reading.units import size_of, switched_on, where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.sizing import SizingResult, Suggestion, Verdict
from interlock.infra.sizing.follows import LARGEST, whole
from interlock.infra.sizing.verdict import MORE_GPUS
from interlock.infra.values import GIB

_SIZING = "infra/sizing (formulas of vLLM's own planning, measured on public logs: docs/accuracy.md)"


def _budget(found: SizingResult) -> str:
    parts = [f"{term.name.replace('_', ' ')} {term.gib.likely:.1f}" for term in found.terms if term.name not in ("kv_cache", "outside")]
    have = f" of {found.requested_gib.likely:.1f} GiB per GPU" if found.requested_gib else ""
    return f"{' + '.join(parts)}{have}"


def _remedy(found: SizingResult, workload: Workload, bundle: Bundle, fallback: str) -> str:
    """The suggestions in words; a pool that is there and free comes before a card that would have to be bought."""
    own = other_pool(workload, bundle)
    ways = [_way(each, workload) for each in found.suggestions if not (own and "gpu" in each.change)]
    return ", or ".join([*([own] if own else []), *ways][:4]) or fallback


def _way(suggestion: Suggestion, workload: Workload) -> str:
    """The suggestion in words; of more ranks, with the GPUs that they then take."""
    ranks = suggestion.change.get("tp")
    engine = workload.engine
    others = [size_of(workload, size) for size in (engine.pipeline_parallel, engine.data_parallel, engine.prefill_context_parallel)]
    if not isinstance(ranks, int) or not all(each.known for each in others):
        flag, _, value = suggestion.text.partition(" ")
        return f"set {flag} to {value}" if flag.startswith("--") and value.replace(".", "").isalnum() else suggestion.text
    whole, (_, _, beside) = ranks * prod(each.get() for each in others), suggestion.text.partition(" with ")
    if beside:  # which checkpoint is for a person to choose
        return f"{beside} with --tensor-parallel-size {ranks} and {whole} GPUs per replica"
    return f"set --tensor-parallel-size to {ranks} and ask for {whole} GPUs per replica"


@rule(
    "MEM-001",
    Severity.ERROR,
    demand="The weights and the engine's own needs fit the cards of a replica.",
    reason="The engine stops with CUDA out of memory, or with no memory for the cache blocks; more replicas do not shard.",
    source=_SIZING,
    remedy="Use more GPUs (TP, PP), a quantized checkpoint or larger cards.",
    fault="model-too-big",
)
def fits(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for hit in refused(workload, bundle, "MEM-001"):
        found = sized(workload, bundle)
        yield (
            replace(hit, summary=f"{_budget(found)}: {hit.summary}", remedy=_remedy(found, workload, bundle, hit.remedy)) if found else hit
        )


@rule(
    "MEM-002",
    Severity.ERROR,
    demand="The KV pool holds one request of the longest length.",
    reason="vLLM refuses to start: the model's max seq len is larger than the KV cache.",
    source=f"{_SIZING}; vllm/v1/core/kv_cache_utils.py check_enough_kv_cache_memory",
    remedy="Lower --max-model-len, or give the engine more memory.",
    fault="model-too-big",
)
def holds_a_request(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for hit in refused(workload, bundle, "MEM-002"):
        found = sized(workload, bundle)
        if found is None:
            yield hit
            continue
        more = next((_way(each, workload) for each in found.suggestions if "tp" in each.change), "")
        remedy = more if more and hit.remedy == MORE_GPUS else ", or ".join(filter(None, (hit.remedy, more)))
        yield replace(hit, value=hit.value or str(found.max_model_len or ""), remedy=remedy)


@rule(
    "MEM-003",
    Severity.WARNING,
    demand="The KV pool is worth the card.",
    reason="With almost no KV cache a handful of requests runs at a time; the others wait while the GPU idles.",
    source=_SIZING,
    remedy="Use more GPUs, a quantized checkpoint, or a shorter context.",
    fault="model-tight",
    settings={"least_share": 0.1, "least_requests": 4},
)
def tight(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    found = sized(workload, bundle)
    if found is None or found.kv_available_gib is None or found.requested_gib is None or found.verdict is Verdict.DOES_NOT_FIT:
        return
    if any(refused(workload, bundle, "MEM-001")):
        return  # It is told that nothing may be left at all.
    left, budget = found.kv_available_gib.likely, found.requested_gib.likely
    few = found.max_concurrency is not None and found.max_concurrency.likely < float(settings["least_requests"])
    if left < float(settings["least_share"]) * budget and (few or left <= 0):
        says = f"leave about {left:.1f} GiB for the KV cache" if left > 0 else f"are about {-left:.1f} GiB too much, without any KV cache"
        remedy = _remedy(found, workload, bundle, "use more GPUs or a shorter context")
        yield Hit(where(workload, Place.MODEL, workload.engine.model), f"{_budget(found)} {says}", remedy)


@rule(
    "MEM-004",
    Severity.ERROR,
    demand="max-model-len is not above what the model was made for.",
    reason="vLLM refuses to start unless VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set; beyond its positions a model answers nonsense.",
    source="vllm/config/model.py _get_and_verify_max_len; vllm-project/vllm#7303",
    remedy="Lower it, or give rope scaling.",
)
def length(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flag, limit = workload.engine.flag("max-model-len"), workload.engine.max_position
    limit = _of_decoder(workload) if limit.absent else limit
    told = list(refused(workload, bundle, "MEM-004"))
    yield from told
    asked, facts = flag.map(_tokens), facts_of(workload)
    stretched = any(not workload.engine.flag(name).absent for name in ("rope-scaling", "hf-overrides", "rope-parameters"))
    allowed = switched_on(workload.engine.env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", Fact()))
    own = limit.get() if limit.known else facts.max_position if facts else 0
    if not told and asked.known and own and asked.get() > own and not stretched and not allowed:
        # A variant may be made for longer contexts than the base model that the catalog knows.
        level = Severity.ERROR if limit.known or asked.get() > LARGEST else Severity.INFO
        text = f"--max-model-len {str(flag.get())[:40]} is above the {own} positions of the model, and no rope scaling is given"
        remedy = f"set --max-model-len to {own} or less, or give rope scaling"
        yield Hit(where(workload, Place.ARGS, flag), text, remedy, str(flag.get())[:40], severity=level)


def _tokens(text: str) -> int:
    """A length; one beyond every possible size as just beyond it. Raises ValueError."""
    return LARGEST + 1 if text.isdecimal() and len(text.lstrip("0")) > len(str(LARGEST)) else whole(text)


def _of_decoder(workload: Workload) -> Fact[int]:
    """The decoder's positions of a speech model, which the planner does not size."""
    model = str(workload.engine.model.value) if workload.engine.model.known else ""
    rows = table("decoder_positions.json")["rows"]
    return next((known(int(row["tokens"])) for row in rows if re.search(row["match"], model.lower())), Fact())


@rule(
    "MEM-005",
    Severity.ERROR,
    demand="gpu-memory-utilization is a share that the card can give.",
    reason="vLLM checks free memory against it at start; CUDA, its libraries and graphs need some outside.",
    source="vllm/config/cache.py (0 < value <= 1); vllm/v1/worker/utils.py request_memory",
    remedy="Choose a value up to 0.95.",
    settings={"most": 0.985},
)
def utilization(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flag = workload.engine.flag("gpu-memory-utilization")
    told = list(refused(workload, bundle, "MEM-005"))
    yield from told
    share = flag.map(float)
    if told or not share.known:
        return
    path = where(workload, Place.ARGS, flag)
    if not 0 < share.get() <= 1:
        yield Hit(path, f"--gpu-memory-utilization {share.get():g} is not between 0 and 1", "choose a value up to 0.95", flag.get())
    elif share.get() >= float(settings["most"]) and slice_of(workload) is None:
        text = f"--gpu-memory-utilization {share.get():g} leaves nothing for CUDA's own memory: free memory at start is less"
        yield Hit(path, text, "choose a value up to 0.95", flag.get(), severity=Severity.WARNING)


@rule(
    "MEM-006",
    Severity.ERROR,
    demand="A KV pool of a fixed size fits the card beside the weights.",
    reason="It takes the place of gpu_memory_utilization and is not derived from the card: the engine stops with CUDA out of memory.",
    source="vllm/v1/worker/gpu_worker.py determine_available_memory (kv_cache_memory_bytes)",
    remedy="Lower --kv-cache-memory-bytes.",
    fault="model-too-big",
)
def fixed_pool_fits(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return refused(workload, bundle, "MEM-006")


@rule(
    "MEM-008",
    Severity.ERROR,
    demand="What the engine asks for is free on the card, graphs included.",
    reason="vLLM refuses to start when less is free, and CUDA graphs can run past the budget.",
    source="vllm/v1/worker/utils.py request_memory; public logs of vLLM 0.28 on L4",
    remedy="Lower --gpu-memory-utilization.",
    settings={"graphs_gib": 1.0},
)
def beside_others(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    pool = bundle.pool(workload)
    if pool is None or not pool.used_memory.known:
        return
    known_card = card(workload, bundle)
    total = pool.gpu_memory.get() / GIB if pool.gpu_memory.known else known_card.memory_gib.likely if known_card else 0.0
    share = workload.engine.flag("gpu-memory-utilization").map(float).default(0.92)
    if not total or not share.known:
        return
    free, asked = total - pool.used_memory.get() / GIB, total * share.get()
    path, value = where(workload, Place.ARGS, share), f"{share.get():g}"
    if asked > free:
        text = f"{asked:.1f} GiB asked ({share.get():g} x {total:.1f}), but others hold {total - free:.1f} and {free:.1f} GiB are free"
        yield Hit(path, text, f"set --gpu-memory-utilization to {free / total * 0.95:.2f} or less", value)
    elif asked > free - float(settings["graphs_gib"]) and workload.engine.flag("enforce-eager").value != "true":
        text = f"{asked:.1f} of {free:.1f} free GiB leave less than {settings['graphs_gib']:g} GiB: CUDA graphs run past the budget"
        yield Hit(path, text, f"set --gpu-memory-utilization to {(free - 2 * float(settings['graphs_gib'])) / total:.2f}", value)


@rule(
    "MEM-009",
    Severity.WARNING,
    demand="A MIG slice exists on its card and is planned with its own memory.",
    reason="NVML reports the parent card to a process in a slice, so tools and logs show more memory than there is.",
    source="vllm-project/vllm#41776; NVIDIA MIG user guide (profiles)",
    remedy="Plan with the slice's memory.",
)
def slices(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    profile, found, pool = slice_of(workload), card(workload, bundle), bundle.pool(workload)
    if (
        profile is None
        or found is None
        or found.geometry is None
        or size_of(workload, workload.engine.tensor_parallel).value not in (1, None)
    ):
        return
    slice_known = found.geometry.profile(profile)
    if slice_known is None and pool and pool.sharing.value == "mig":
        return  # GPU-104 tells it of the pool.
    if slice_known is None:
        have = ", ".join(p.name for p in found.geometry.profiles)
        yield Hit(
            where(workload, Place.GPUS), f"{found.name} has no MIG profile {profile} (it has {have})", "ask for one that it has", profile
        )
    elif not (pool and pool.gpu_memory.known):
        text = f"the slice has {slice_known.memory_gib:.1f} GiB, but NVML reports {found.memory_gib.likely:.0f} GiB of the whole card"
        level = Severity.WARNING
        yield Hit(
            where(workload, Place.GPUS), text, "plan with the slice's memory; check the engine's start-up log", profile, severity=level
        )
