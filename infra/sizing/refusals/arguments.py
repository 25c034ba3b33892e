"""What the engine accepts of an argument for this model: data types, cache formats and block sizes that an attention kernel takes."""

from collections.abc import Iterator, Mapping

from interlock.infra.catalog.versions import first, since
from interlock.infra.sizing.kv.pages import FLASHINFER_HEADS, aligned_block
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.config import mapping, text
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import family
from interlock.infra.sizing.model.layers import Cache
from interlock.infra.sizing.refusal import Kind, Refusal, removed
from interlock.infra.sizing.settings import Resolved, drafts_ahead

_HALF, _FLOAT = ("float16", "half"), ("float32", "float")
# --quantization methods that work in float32, and those that work in bfloat16 only (get_supported_act_dtypes of each configuration).
_FLOAT_METHODS = ("", "compressed-tensors", "bitsandbytes", "torchao", "gguf")
_BFLOAT_METHODS = ("mxfp4", "gpt_oss_mxfp4", "fp_quant", "modelopt_mxfp8")
# Method -> the change that took it away.
_DROPPED: Mapping[str, str] = {
    "bitsandbytes": "no_bitsandbytes",
    **dict.fromkeys(("fbgemm_fp8", "fp_quant"), "no_fbgemm"),
    **dict.fromkeys(("aqlm", "hqq", "marlin", "qqq", "deepspeedfp", "ptpc_fp8", "rtn", "petit_nvfp4"), "no_early_formats"),
}
# As an argument these choose the kernels of AWQ and GPTQ checkpoints (override_quantization_method of auto_awq.py and auto_gptq.py).
_KERNELS = ("marlin",)
_ATTENTION = frozenset({Cache.FULL, Cache.SLIDING, Cache.CHUNKED, Cache.MLA})
_LATENT_CACHES = ("auto", "bfloat16", "float16", "fp8", "fp8_e4m3")
_SPARSE_CACHES = ("auto", "bfloat16", "float16", "fp8", "fp8_ds_mla")


DCP, _HYBRID = "decode-context-parallel-size", "disable-hybrid-kv-cache-manager"


def step_refusal(text: str, least: int) -> Refusal:
    """A step that is too short for what it must hold."""
    flag = "max-num-batched-tokens"
    return Refusal(kind=Kind.STEP, field=flag, text=text, remedy=f"set --{flag} to at least {least}", value=least)


def _no_dtype(text: str) -> Refusal:
    return Refusal(kind=Kind.DTYPE, field="dtype", text=text, remedy="set --dtype to bfloat16", value="bfloat16")


def _no_cache(text: str, instead: str = "auto") -> Refusal:
    return Refusal(kind=Kind.CACHE_DTYPE, field="kv-cache-dtype", text=text, remedy=f"set --kv-cache-dtype to {instead}", value=instead)


def argument_refusals(found: Resolved, facts: ModelFacts) -> Iterator[Refusal]:
    """Every argument that no kernel or check takes."""
    yield from _method(found, facts)
    yield from _dtype(found, facts)
    yield from _cache_format(found, facts)
    yield from _kernel(found, facts)
    yield from _one_table(found, facts)
    if found.request.expert_parallel and (not facts.experts or not facts.family.expert_parallel):
        yield removed(Kind.EXPERTS, "enable-expert-parallel", "expert parallelism is asked for a model whose config names no experts")
    if found.request.async_scheduling and not drafts_ahead(found.request, found.version, found.v2):
        text = f"asynchronous scheduling is not possible with {found.request.speculative_method} drafts"
        yield removed(Kind.SCHEDULING, "async-scheduling", text)


def method_of(found: Resolved, facts: ModelFacts) -> str:
    """Name of the quantization method: the checkpoint's, else the one asked for."""
    return _declared(facts) or (found.request.quantization or "").lower()


def _declared(facts: ModelFacts) -> str:
    return text(mapping(facts.config, "quantization_config") or mapping(facts.text, "quantization_config"), "quant_method").lower()


def _method(found: Resolved, facts: ModelFacts) -> Iterator[Refusal]:
    """Formats that a version does not load any more (``layers/quantization/__init__.py``)."""
    method = method_of(found, facts)
    change = _DROPPED.get(method)
    if method in _KERNELS and not _declared(facts):
        return  # Checkpoints of two other formats take it, and this one may be one of them.
    if change and since(change, found.version):
        text = f"{method} weights are not loaded since vLLM {first(change)} (or only with a plug-in or a special flag)"
        remedy = f"use a checkpoint in another format, or a vLLM before {first(change)}"
        yield Refusal(kind=Kind.FORMAT, field="quantization", text=text, remedy=remedy)


def _dtype(found: Resolved, facts: ModelFacts) -> Iterator[Refusal]:
    dtype, method = (found.request.dtype or "").lower(), method_of(found, facts)
    if dtype in _FLOAT and method not in _FLOAT_METHODS:
        yield _no_dtype(f"{method} weights are not computed in float32")
    if dtype in (*_FLOAT, *_HALF) and method in _BFLOAT_METHODS:
        yield _no_dtype(f"{method} weights are computed in bfloat16 only, not {dtype}")
    if dtype in _HALF and not (facts.family.float16 and family(facts.outer_type).float16):
        yield _no_dtype(f"{facts.model_type} is numerically unstable in float16")


def _cache_format(found: Resolved, facts: ModelFacts) -> Iterator[Refusal]:
    stated, dtype = (found.request.kv_cache_dtype or "auto").lower(), (found.request.dtype or "").lower()
    declared = dtype if dtype not in ("", "auto") else facts.dtype if facts.dtype in (*_HALF, "bfloat16") else ""
    own = "float16" if declared in _HALF else "float32" if declared in _FLOAT else declared
    if stated in ("bfloat16", "float16") and own and stated != own and since("cache_dtype_checked", found.version):
        yield _no_cache(f"kv_cache_dtype {stated} is not the model's dtype {own}")
    quantization = facts.quantization
    scaled = quantization is not None and (quantization.cache_scales in ("attention", "all") or quantization.kv_cache_fp8)
    loading = method_of(found, facts) == "fp8" and not since("online_fp8_apart", found.version)
    if stated == "fp8_e5m2" and (scaled or loading):
        yield _no_cache("an fp8 checkpoint carries scales for fp8_e4m3: kv_cache_dtype fp8_e5m2 is refused", "fp8")


def _kernel(found: Resolved, facts: ModelFacts) -> Iterator[Refusal]:
    """No attention backend takes it (``platforms/cuda.py::get_attn_backend_cls``; the same on 0.26 to 0.33, compute capability 9.0)."""
    caches = {layer.cache for layer in facts.kv_layers}
    if not (caches & _ATTENTION or facts.pooling) or is_compressed(facts.text):
        return
    stated, dtype = (found.request.kv_cache_dtype or "auto").lower(), (found.request.dtype or "").lower()
    sparse, step = Cache.INDEXER in caches, 64 if Cache.INDEXER in caches else 16
    size = found.request.block_size
    if size and size % step:
        text = f"block_size {size} is not a multiple of the {step} tokens that attention kernels take"
        whole = max(1, size // step) * step
        remedy = f"set --block-size to {whole}, or leave it to the engine"
        yield Refusal(kind=Kind.BLOCK_SIZE, field="block-size", text=text, remedy=remedy, value=whole)
    if Cache.MLA not in caches:
        yield from _shared_context(found, facts, stated, dtype)
        return
    if dtype in _FLOAT:
        yield _no_dtype("latent attention has no kernel for float32")
    if stated not in (_SPARSE_CACHES if sparse else _LATENT_CACHES):
        yield _no_cache(f"{'sparse ' if sparse else ''}latent attention has no kernel for kv_cache_dtype {stated}", "fp8")
    if sparse and dtype in _HALF and (stated.startswith("fp8") or found.request.dcp > 1):
        yield _no_dtype("sparse latent attention reads an fp8 cache, or a context that ranks share, in bfloat16 only")


def _shared_context(found: Resolved, facts: ModelFacts, stated: str, dtype: str) -> Iterator[Refusal]:
    """Kernels that can read a context which several ranks share: FlashAttention's, FlashInfer's for fp8_e5m2 and its head widths."""
    if found.request.dcp < 2 or not since("shared_context_checked", found.version):
        return
    widths = {layer.head_dim for layer in facts.kv_layers if layer.head_dim}
    if dtype in _FLOAT or "per_token_head" in stated or (stated == "fp8_e5m2" and not widths <= set(FLASHINFER_HEADS)):
        text = f"no kernel reads a context that ranks share with dtype {dtype or 'auto'} and kv_cache_dtype {stated}"
        yield removed(Kind.CONTEXT_PARALLEL, DCP, text)


def _one_table(found: Resolved, facts: ModelFacts) -> Iterator[Refusal]:
    """Layers that cannot share one block table (``unify_hybrid_kv_cache_specs``), or windows over ranks that share a context."""
    caches = {layer.cache for layer in facts.kv_layers}
    if found.request.disable_hybrid_kv_cache_manager and Cache.STATE in caches and caches & _ATTENTION:
        text = "recurrent states and attention cannot share a block table: the hybrid KV cache manager cannot be disabled"
        yield removed(Kind.BLOCK_TABLE, _HYBRID, text)
    size = found.request.block_size or 16
    old = since("windows_choose_blocks", found.version) and not since("windows_promoted", found.version)
    if found.request.disable_hybrid_kv_cache_manager and old and size > 16 and {Cache.SLIDING, Cache.FULL} <= caches:
        text = f"this version keeps windows in blocks of 16 tokens and attention in {size}: the hybrid KV cache manager cannot be disabled"
        yield removed(Kind.BLOCK_TABLE, _HYBRID, text)
    aligned = aligned_block(facts, found.kv) if since("states_in_one_step", found.version) else 0
    if aligned > found.batched_tokens:
        text = f"this version caches states by blocks of {aligned} tokens: max_num_batched_tokens {found.batched_tokens} is below that"
        yield step_refusal(text, aligned)
    if found.request.dcp > 1 and Cache.SLIDING in caches and not (found.request.disable_hybrid_kv_cache_manager and Cache.FULL in caches):
        yield removed(Kind.CONTEXT_PARALLEL, DCP, "decode context parallelism does not support sliding windows")
