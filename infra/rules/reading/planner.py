"""What the planner is asked about a workload: model facts, the card or slice, and what would be refused."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from interlock.infra.catalog.gpus import Gpu, gpu
from interlock.infra.catalog.models import entry
from interlock.infra.facts import Bundle, Fact, Place, Pool, Workload
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.reading.units import accelerators, engine_containers, where
from interlock.infra.rules.rule import Hit, drop, put
from interlock.infra.sizing import Kind, ModelFacts, Refusal, SizingRequest, SizingResult, model_facts, start_refusals, whole_weights
from interlock.infra.sizing.ask import Card, Model, Question, answer, ask
from interlock.infra.values import GIB

# The oldest version whose start-up checks are known well: what it refuses, and the newest does not, is a warning without a version.
_OLDEST = "0.8.5"
# Where the same figure is stated as in the catalog, the catalog's interval is the better one.
_SAME = 0.002

CLAIMED: Mapping[Kind, str] = {
    Kind.HEADS: "GPU-002",
    Kind.WIDTHS: "GPU-023",
    Kind.GROUPS: "GPU-023",
    Kind.WEIGHTS: "MEM-001",
    Kind.REQUEST: "MEM-002",
    Kind.LENGTH: "MEM-004",
    Kind.FREE_MEMORY: "MEM-005",
    Kind.OUTSIDE: "MEM-005",
    Kind.POOL: "MEM-006",
    Kind.CARD: "GPU-015",
    Kind.DRAFT: "ARG-014",
    Kind.STEP: "ARG-015",
    Kind.EXPERTS: "ARG-016",
}
"""The rule that speaks of a kind of refusal; ``OTHERS`` speaks of every other kind."""
OTHERS = "ARG-019"

_MODEL = frozenset({"model", "hf_overrides", "hf-config-path", "model-class-overrides"})
_STORED = frozenset({"quantization", "checkpoint", "kernels"})
_MEMORY = frozenset({Kind.WEIGHTS, Kind.REQUEST, Kind.POOL, Kind.FREE_MEMORY})
_READS: Mapping[Kind, frozenset[str]] = {
    Kind.HEADS: frozenset({"tp"}),
    Kind.WIDTHS: frozenset({"tp", "expert_parallel", "ranks"}),
    Kind.GROUPS: frozenset({"tp", "expert_parallel", "ranks", "quantization", "checkpoint"}),
    Kind.PIPELINE: frozenset({"pp"}),
    Kind.EXPERTS: frozenset({"expert_parallel"}),
    Kind.LENGTH: frozenset({"max_model_len", "allow_long"}),
    Kind.STEP: frozenset({"max_model_len", "max_num_seqs", "max_num_batched_tokens", "chunked_prefill"}),
    Kind.BLOCK_SIZE: frozenset({"block_size", "kernels"}),
    Kind.DTYPE: frozenset({"dtype", "kv_cache_dtype", "dcp"}) | _STORED,
    Kind.CACHE_DTYPE: frozenset({"dtype", "kv_cache_dtype"}) | _STORED,
    Kind.ARCHITECTURE: frozenset(),
    Kind.CARD: frozenset({"kernels"}),
    Kind.FORMAT: _STORED,
    Kind.DRAFT: frozenset({"speculative_method"}),
}
"""What a kind of refusal depends on beside the model; every field for the others. A refusal that depends on something open is not told."""


def facts_of(workload: Workload) -> ModelFacts | None:
    """What the planner knows of the model: its config where given, else the catalog's entry of that name."""
    engine = workload.engine
    if engine.config is not None:
        return _from_config(json.dumps(engine.config, sort_keys=True, default=str), _text(engine.quantization))
    if not engine.model.known or not isinstance(engine.model.value, str):
        return None
    return _named(engine.model.value, _text(engine.flag("quantization")))


@lru_cache(maxsize=256)
def _from_config(config: str, quantization: str | None) -> ModelFacts | None:
    return model_facts(json.loads(config), quantization)


@lru_cache(maxsize=512)
def _named(name: str, quantization: str | None) -> ModelFacts | None:
    parts = name.strip("/").split("/")
    tries = dict.fromkeys((name, "/".join(parts[-2:]))) if name.startswith("/") else (name,)
    return next((found for text in tries if (found := model_facts(text, quantization)) is not None), None)


def _text(fact: Fact[str]) -> str | None:
    return str(fact.value) if fact.known and fact.value not in ("none", "auto", "") else None


def slice_of(workload: Workload) -> str | None:
    """The MIG profile that the engine asks for, or None."""
    for _, container in engine_containers(workload):
        for units in accelerators(container):
            if units.unit == "slice" and units.vendor == "nvidia":
                return units.profile or None
    return None


def card(workload: Workload, bundle: Bundle) -> Gpu | None:
    """The card under a workload: its pool's, else the one that its node labels name."""
    pool = bundle.pool(workload)
    named = pool.gpu if pool and pool.gpu.known else workload.gpu
    return gpu(named.get()) if named.known and isinstance(named.value, str) else None


def capability(workload: Workload, bundle: Bundle) -> float | None:
    """Compute capability of the cards, when it is known."""
    pool = bundle.pool(workload)
    if pool and pool.compute_capability.known:
        return pool.compute_capability.get()
    found = card(workload, bundle)
    return found.compute_capability if found else None


def _card(workload: Workload, bundle: Bundle) -> Card:
    """The card or slice under each rank. Who meets on a shared card is a question of the whole pool (GPU-101), not of one engine."""
    return card_of(bundle.pool(workload), card(workload, bundle), slice_of(workload))


def card_of(pool: Pool | None, found: Gpu | None, profile: str | None) -> Card:
    """A card of a pool as the planner is asked about it, or a slice of it; with the memory that the pool states where it has its own."""
    known_slice = found.geometry.profile(profile) if found and found.geometry and profile else None
    listed = known_slice.memory_gib if known_slice else found.memory_gib.likely if found else 0.0
    total = pool.gpu_memory.get() / GIB if pool and pool.gpu_memory.known else None
    if total is not None and abs(total - listed) <= _SAME * listed:
        total = None
    return Card(gpu=found.name if found else None, total_gib=total, mig_profile=profile)


def question_of(workload: Workload, bundle: Bundle, version: str | None = None) -> Question:
    """The question for the planner."""
    engine, facts = workload.engine, facts_of(workload)
    model = Model(
        name=None if engine.config is not None or facts is None else facts.name,
        config=engine.config,
        checkpoint_bytes=engine.weight_bytes.value if engine.weight_bytes.known else None,
        quantization=_text(engine.quantization),
    )
    flags = {flag.name: flag.value for flag in engine.flags}
    asked = ask(flags, engine.env, model, _card(workload, bundle), version or _text(engine.version), complete=engine.complete)
    return Question(asked.request, {**asked.open, **_beside(workload, facts)})


def _beside(workload: Workload, facts: ModelFacts | None) -> dict[str, str]:
    """What leaves a question open beside its arguments."""
    vendor = workload.vendor.get() if workload.vendor.known else "nvidia"
    found = {} if vendor == "nvidia" else {"kernels": f"{vendor} has its own kernels"}
    if vendor not in ("nvidia", "amd"):
        found["ranks"] = f"{vendor} counts its devices in its own way"
    if facts is not None and not _storage_known(workload, facts):
        found["checkpoint"] = "how it is stored is not stated"
    return found


def _storage_known(workload: Workload, facts: ModelFacts) -> bool:
    """Whether it is known how the checkpoint is stored; class defaults of a config do not say it."""
    declared = any(key in part for part in (facts.config, facts.text) for key in ("torch_dtype", "dtype"))
    return declared or facts.quantization is not None or workload.engine.weight_bytes.known


def exact(workload: Workload) -> bool:
    """Whether the model's config is its own: given, or the catalog's entry of that very name, read from its repository (variants may be
    made for longer contexts)."""
    if workload.engine.config is not None:
        return True
    found = entry(workload.engine.model.get().strip("/")) if workload.engine.model.known else None
    return found is not None and found.exact_length


def checkpoint_bytes(workload: Workload) -> int | None:
    """Bytes of the checkpoint of a model that the catalog knows, as it is stored (a flag that quantizes while loading changes nothing)."""
    own = workload.engine.quantization
    if workload.engine.config is not None or not workload.engine.model.known or (own.known and own.get() != "none"):
        return None
    facts = _named(str(workload.engine.model.value), None)
    if facts is None or not facts.complete or not _storage_known(workload, facts):
        return None
    return facts.checkpoint_bytes or whole_weights(facts) or None


def request_of(workload: Workload, bundle: Bundle) -> SizingRequest | None:
    """The request; None where something that decides the memory is not known."""
    asked = question_of(workload, bundle)
    return asked.request if not asked.open and (asked.request.gpu or asked.request.gpu_total_gib) else None


def sized(workload: Workload, bundle: Bundle) -> SizingResult | None:
    """The planner's answer about memory; None where the question cannot be asked."""
    request = request_of(workload, bundle)
    return answer(request) if request else None


@dataclass(frozen=True, slots=True)
class Told:
    """A refusal with how sure it is."""

    refusal: Refusal
    sure: bool = True
    """It holds for the version that runs, or for the newest and the oldest when none is stated."""
    note: str = ""


def refusals(workload: Workload, bundle: Bundle) -> tuple[Told, ...]:
    """Every refusal of the planner that does not depend on something that cannot be read."""
    # Many rules ask for the same workload; it is kept beside the answer so that its identity stays its own.
    asked: dict[int, tuple[Workload, tuple[Told, ...]]] = bundle.memo.setdefault("refusals", {})
    if id(workload) not in asked:
        asked[id(workload)] = (workload, tuple(_refusals(workload, bundle)))
    return asked[id(workload)][1]


def _refusals(workload: Workload, bundle: Bundle) -> Iterator[Told]:
    asked = question_of(workload, bundle)
    found = answer(asked.request)
    told = [each for each in found.refusals if _readable(each.kind, asked)]
    yield from (Told(each, sure=False) for each in found.doubtful if _readable(each.kind, asked))
    if asked.request.vllm_version:
        yield from map(Told, told)
        return
    before = start_refusals(question_of(workload, bundle, _OLDEST).request)
    kinds, older = {each.kind for each in told}, {each.kind for each in before}
    yield from (Told(each, sure=each.kind in older or each.kind in _MEMORY) for each in told)
    for each in before:
        if each.kind in (Kind.WIDTHS, Kind.GROUPS) and each.kind not in kinds and _readable(each.kind, asked):
            yield Told(each, sure=False, note=" (refused by older versions; the version is not stated)")


def _readable(kind: Kind, asked: Question) -> bool:
    reads = _READS.get(kind)
    return not asked.open if reads is None else not (reads | _MODEL) & asked.open.keys()


def refused(workload: Workload, bundle: Bundle, code: str) -> Iterator[Hit]:
    """A hit for every refusal that the rule ``code`` speaks of, at the argument's own path."""
    engine = workload.engine
    for told in refusals(workload, bundle):
        refusal = told.refusal
        if CLAIMED.get(refusal.kind, OTHERS) != code or _by_connector(refusal, workload):
            continue
        flag = engine.model if refusal.field == "model" else engine.flag(refusal.field)
        # The engine's own default, of which nobody is to blame, is as tight everywhere.
        doubt = Severity.INFO if refusal.kind is Kind.OUTSIDE and flag.absent else Severity.WARNING
        level = Severity.ERROR if told.sure else doubt
        value = str(flag.value)[:80] if flag.known else ""
        place = where(workload, Place.MODEL if refusal.field == "model" else Place.ARGS, flag)
        fixes = _fixes(refusal, place) if flag.known else ()
        fault = _FAULTS.get(refusal.kind, "")
        yield Hit(place, refusal.text + told.note, refusal.remedy, value, severity=level, fixes=fixes, fault=fault)


def _by_connector(refusal: Refusal, workload: Workload) -> bool:
    """Whether it is about the hybrid KV cache manager, which a KV connector switched off: another rule speaks of that."""
    return refusal.kind is Kind.BLOCK_TABLE and workload.engine.flag(refusal.field).absent


_FAULTS = {Kind.OUTSIDE: "outside-the-utilization", Kind.GROUPS: "quantization-groups"}
"""Narrower names of the fault than that of the rule."""


def _fixes(refusal: Refusal, place: str) -> tuple[Fix, ...]:
    """The remedy as a change, where one change suffices."""
    if refusal.removes:
        return drop(place, flag=refusal.field)
    return put(place, refusal.value, flag=refusal.field) if refusal.value is not None else ()
