"""A request with every open setting filled in by the version's own rules, and a list of what was filled in."""

from dataclasses import dataclass

from interlock.infra.catalog.gpus import Gpu, gpu, memory_of_class
from interlock.infra.catalog.models import find
from interlock.infra.catalog.overheads import Overheads, fitted
from interlock.infra.catalog.versions import meant, newest, since, value
from interlock.infra.catalog.vllm_defaults import batch_defaults, v2_architectures
from interlock.infra.sizing.described import draft_of, model_of
from interlock.infra.sizing.kv.formats import DEFAULT, FORMATS, KvFormat
from interlock.infra.sizing.kv.pages import Settings
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.request import AUTO, Entry, SizingRequest
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.weights.ledger import Shard
from interlock.infra.values import Version

_WIDTHS = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2}
# Drafting methods that keep asynchronous scheduling (vLLM: config/speculative.py, EagleModelTypes).
_ASYNC_DRAFTS = ("mtp", "eagle", "eagle3", "dflash", "dspark", "ngram_gpu", "deepseek_mtp", "medusa_eagle", "extract_hidden_states")
_V0_CHUNKED_ABOVE = 32_768
_V2_DRAFTS = ("mtp", "eagle", "eagle3", "dflash", "dspark", "extract_hidden_states")


@dataclass(frozen=True, slots=True)
class Resolved:
    """Everything the terms need."""

    request: SizingRequest
    facts: ModelFacts | None
    draft: ModelFacts | None
    gpu: Gpu | None
    memory: Estimate | None
    """GiB of the GPU or slice."""
    version: Version
    utilization: float
    sequences: int
    batched_tokens: int
    max_model_len: int
    """The length to check (the model's own when none is stated); 0 when unknown."""
    fit_length: bool
    """The length is to be found (``--max-model-len -1``)."""
    eager: bool
    v0: bool
    """The V0 engine runs."""
    v2: bool
    """The V2 model runner runs."""
    kv: Settings
    shard: Shard
    width: int
    """Bytes per number of unquantized weights."""
    unknown: tuple[str, ...]

    @property
    def overheads(self) -> Overheads:
        """The fitted figures: the catalog's, unless the request brings others."""
        return self.request.overheads or fitted()

    @property
    def capability(self) -> float:
        """Compute capability (9.0 when the GPU is not known)."""
        return self.gpu.compute_capability if self.gpu else 9.0


def _memory(request: SizingRequest, found: Gpu | None) -> Estimate | None:
    if request.mig_profile and found and found.geometry:
        profile = found.geometry.profile(request.mig_profile)
        if profile:
            size = profile.memory_gib
            return Estimate(low=size * 0.98, likely=size, high=size * 1.01)
    if request.gpu_total_gib:
        return Estimate(low=request.gpu_total_gib, likely=request.gpu_total_gib, high=request.gpu_total_gib)
    if request.mig_profile:
        return None  # a slice that its card does not have is not the whole card
    if found is None:
        nominal = memory_of_class(request.gpu or "")
        return Estimate(low=nominal.low, likely=nominal.likely, high=nominal.high) if nominal else None
    return Estimate(low=found.memory_gib.low, likely=found.memory_gib.likely, high=found.memory_gib.high)


def runs_v2(facts: ModelFacts | None, version: Version, method: str | None) -> bool:
    """Whether the V2 model runner serves this model (vLLM: ``config/vllm.py::use_v2_model_runner``)."""
    stage = value("v2_runner", version)
    if stage == "none" or facts is None:
        return False
    if method and method not in _V2_DRAFTS and not (since("v2_other_drafts", version) and method not in ("suffix", "custom_class")):
        return False
    if stage == "all":
        return True
    if facts.pools or facts.hybrid or "mamba" in facts.mixers:
        return False
    if stage == "dense":
        return not facts.experts or facts.architecture in v2_architectures()
    names = ("Qwen3ForCausalLM",) if stage == "qwen3" else ("Qwen3ForCausalLM", "LlamaForCausalLM", "MistralForCausalLM")
    return facts.architecture in names and facts.quantization is None


def drafts_ahead(request: SizingRequest, version: Version, v2: bool) -> bool:
    """Whether the drafting method, if any, allows asynchronous scheduling."""
    method = request.speculative_method
    early = not method or method in _ASYNC_DRAFTS or (v2 and since("v2_other_drafts", version))
    return early or (method == "draft_model" and since("async_draft_model", version))


def steps_in_flight(request: SizingRequest, facts: ModelFacts | None, version: Version, v2: bool) -> int:
    """Scheduler steps whose tokens a sliding window must hold at once (vLLM: ``config/vllm.py::max_concurrent_batches``)."""
    if not since("steps_in_flight", version):
        return 1
    default = since("async_scheduling", version) and not (facts and facts.pools) and drafts_ahead(request, version, v2)
    overlapped = default if request.async_scheduling is None else request.async_scheduling
    if overlapped and (v2 or request.pp == 1):
        return request.pp + 1
    return request.pp


def _caches_prefixes(facts: ModelFacts | None, version: Version) -> bool:
    """Whether prefixes are cached by default (vLLM: ``config/model.py::is_prefix_caching_supported``)."""
    if facts is None or ("mamba" not in facts.mixers and not facts.hybrid):
        return True
    return facts.hybrid and since("hybrid_prefix_caching", version)


def _kv_format(request: SizingRequest, facts: ModelFacts | None, width: int) -> KvFormat:
    """How the cache is stored; a format that is not known counts as 16 bit, and the answer is bounded (``either``)."""
    stated = (request.kv_cache_dtype or "").lower()
    found = FORMATS.get(stated)
    if found is not None:
        return found
    if stated in DEFAULT and facts and facts.quantization and facts.quantization.kv_cache_fp8:
        return FORMATS["fp8"]
    return KvFormat(width)


def _v0_batches(request: SizingRequest, version: Version, length: int) -> tuple[int, int]:
    """V0 profiled whole prompts of the full length, or chunks of 2,048 tokens when the length passed 32,768."""
    whole = length <= _V0_CHUNKED_ABOVE or not since("long_prompts_in_chunks", version)
    tokens = request.max_num_batched_tokens or (max(length, 2048) if whole else 2048)
    return request.max_num_seqs or 256, tokens


def _batches(request: SizingRequest, version: Version, memory: Estimate | None, card: Gpu | None, length: int) -> tuple[int, int]:
    size = memory.likely if memory else 80.0
    server, offline, default_seqs = batch_defaults(
        version, size, card.name if card else request.gpu or "", card.compute_capability if card else None
    )
    sequences = request.max_num_seqs or default_seqs
    tokens = request.max_num_batched_tokens
    if tokens is None:
        tokens = server if request.entry is Entry.SERVER else offline
        if request.chunked_prefill is False:  # a step must hold a whole prompt (engine/arg_utils.py)
            tokens = max(tokens, length)
        if length > 0:
            tokens = min(tokens, sequences * length)
    return (min(sequences, tokens) if request.max_num_seqs is None else sequences), tokens


def _unknown(request: SizingRequest, filled: dict[str, object]) -> tuple[str, ...]:
    told = [f"{name} is not stated: {value} taken" for name, value in filled.items() if getattr(request, name) is None]
    entry = find(request.model) if request.model and request.config is None else None
    if entry is not None and entry.taken is not None:
        stored = f" stored as {entry.quantization}," if entry.quantization else ""
        told.insert(0, f"{request.model} is not in the catalog: the shapes of {entry.taken},{stored} taken")
    return tuple(told)


_FILLED = ("vllm_version", "gpu_memory_utilization", "max_model_len", "max_num_seqs", "max_num_batched_tokens")


def _kv_settings(
    request: SizingRequest, facts: ModelFacts | None, version: Version, width: int, *, in_flight: int, tokens: int, card: Gpu | None
) -> Settings:
    """What the KV layout depends on. ``width``: bytes of a number of the model; ``in_flight``: tokens of unfinished steps."""
    caching = request.enable_prefix_caching
    return Settings(
        version=version,
        tp=request.tp,
        pp=request.pp,
        context_parallel=request.dcp * request.pcp,
        block_size=request.block_size,
        stored=_kv_format(request, facts, width),
        layer_parts=request.layer_parts,
        e5m2=(request.kv_cache_dtype or "").lower() == "fp8_e5m2",
        state_element=width,
        prefix_caching=_caches_prefixes(facts, version) if caching is None else caching,
        disable_hybrid=bool(request.disable_hybrid_kv_cache_manager),
        speculative=request.speculative_tokens,
        in_flight=in_flight,
        encoder_tokens=tokens,
        capability=card.compute_capability if card else 9.0,
    )


def resolve(request: SizingRequest) -> Resolved:
    """Fill in the open settings. Never raises: what cannot be filled stays empty and is listed."""
    facts = model_of(request)
    card = gpu(request.gpu) if request.gpu else None
    memory = _memory(request, card)
    version, unread = meant(request.vllm_version) if request.vllm_version else (newest(), "")
    own = facts.length(version) if facts else 0
    length = own if request.max_model_len in (None, AUTO) else request.max_model_len or 0
    v0 = not since("v1_engine", version) if request.v0_engine is None else request.v0_engine
    sequences, tokens = _v0_batches(request, version, length) if v0 else _batches(request, version, memory, card, length)
    width = _WIDTHS.get((request.dtype or "").lower(), facts.dtype_bytes if facts else 2)
    v2 = runs_v2(facts, version, request.speculative_method)
    in_flight = steps_in_flight(request, facts, version, v2) * tokens
    kv = _kv_settings(request, facts, version, width, in_flight=in_flight, tokens=tokens, card=card)
    spread = request.dp * request.pcp  # experts are cut over both (fused_moe/config.py, flatten_tp_across_dp_and_pcp)
    utilization = request.gpu_memory_utilization or float(value("utilization", version))
    shown = length or "nothing (the model's own length is not known)"
    filled = (str(version), utilization, shown, sequences, tokens)
    return Resolved(
        request=request,
        facts=facts,
        draft=draft_of(request),
        gpu=card,
        memory=memory,
        version=version,
        utilization=utilization,
        sequences=sequences,
        batched_tokens=tokens,
        max_model_len=length,
        fit_length=request.max_model_len == AUTO,
        eager=bool(request.enforce_eager),
        v0=v0,
        v2=v2,
        kv=kv,
        shard=Shard(request.tp, request.pp, 0, request.tp * spread if request.expert_parallel else 1, version, spread, request.layer_parts),
        width=width,
        unknown=(*((unread,) if unread else ()), *request.ignored, *_unknown(request, dict(zip(_FILLED, filled, strict=True)))),
    )


__all__ = ["Resolved", "resolve", "runs_v2", "steps_in_flight"]
