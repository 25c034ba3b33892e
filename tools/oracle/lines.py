"""Lines of the oracle file from vLLM's objects: bytes of a rank's tensors, KV groups and pages, the plan for a given memory."""

import copy
import json
import types
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from vllm.config import set_current_vllm_config
from vllm.usage.usage_lib import UsageContext
from vllm.v1.core import kv_cache_utils
from vllm.v1.engine.core import EngineCore

from tools.oracle.ranks import Rank, is_v2

GIB = 1 << 30
Line = dict[str, Any]
SPEC_FIELDS = (
    "sliding_window",
    "attention_chunk_size",
    "num_kv_heads",
    "head_size",
    "head_size_v",
    "page_size_padded",
    "mamba_cache_mode",
    "num_speculative_blocks",
    "num_prefill_checkpoint_blocks",
    "compress_ratio",
)


class Executor:
    """What EngineCore asks of its workers while it plans: the specs of every rank, and the memory that was given."""

    def __init__(self, config: Any, available: int, specs: list[Any], layouts: list[Any]) -> None:
        self.config, self.available, self.specs, self.layouts = config, available, specs, layouts
        self.configs: list[Any] = []

    def get_kv_cache_specs(self) -> list[Any]:
        return self.specs

    def get_supported_kv_cache_layouts(self) -> list[Any]:
        return self.layouts

    def set_kv_cache_layout(self, name: str, interleave: Any = None) -> None:
        from vllm.v1.worker import worker_base

        worker_base.record_kv_cache_layout(self.config.cache_config, name)

    def determine_available_memory(self) -> list[int]:
        return [self.available] * len(self.specs)

    def initialize_from_config(self, configs: list[Any]) -> None:
        self.configs = configs

    def compile_or_warm_up_model(self) -> None:
        return None

    def collective_rpc(self, *_: Any, **__: Any) -> list[None]:
        return [None]


def plan(ranks: list[Rank], available_gib: float) -> Line:
    """The KV cache vLLM lays out for that memory per GPU; raises what vLLM raises.

    Later pipeline ranks are planned with rank 0's configuration, as the engine core does.
    """
    config = _detached(ranks[0].config)
    parallel = config.parallel_config
    tp, pp = parallel.tensor_parallel_size, parallel.pipeline_parallel_size
    specs = [copy.deepcopy(rank.specs) for rank in ranks for _ in range(tp)]
    layouts = [rank.layouts for rank in ranks for _ in range(tp)]
    executor = Executor(config, int(available_gib * GIB), specs, layouts)
    core = types.SimpleNamespace(model_executor=executor, collective_rpc=lambda *_, **__: [None], vllm_config=config)
    with set_current_vllm_config(config):
        planned = EngineCore._initialize_kv_caches(core, config)
    cache = config.cache_config
    tokens, concurrency = _logged(config, executor.configs[0])
    line: Line = {
        "num_blocks": planned.num_blocks,
        "kv_tokens": tokens,
        "max_concurrency": concurrency,
        "block_size": cache.block_size,
        "groups": _groups(planned),
        "tensor_bytes": _allocated(executor.configs[0]),
        "layer_pages": _pages(ranks[0].specs),
        "max_model_len": config.model_config.max_model_len,
    }
    if pp > 1:
        short = ("layers", "spec", "block_size", "page_size_bytes")
        by_rank = [executor.configs[i * tp] for i in range(pp)]
        line["groups_by_pp_rank"] = [[{k: g[k] for k in short} for g in _groups(c)] for c in by_rank]
        line["tensor_bytes_by_pp_rank"] = [_allocated(c) for c in by_rank]
    if getattr(cache, "mamba_cache_mode", None) and "Mamba" in json.dumps(line["groups"]):
        line["mamba_cache_mode"] = cache.mamba_cache_mode
    return line


def _logged(config: Any, first: Any) -> tuple[int | None, float | None]:
    """Tokens and concurrency of the log: of the first rank's layout. What older versions kept was of the scheduler's, which has one
    layer of each group (they differ for DeepSeek-V4 before 0.27)."""
    cache = config.cache_config
    if hasattr(kv_cache_utils, "update_kv_cache_capacity"):
        return cache.kv_cache_size_tokens, cache.kv_cache_max_concurrency
    return kv_cache_utils.get_kv_cache_capacity(config, first) if first.kv_cache_groups else (None, None)


def _detached(config: Any) -> Any:
    """A copy whose parts that planning writes to (block counts, a shortened context) are its own, so that it can be planned again."""
    found = copy.copy(config)
    for part in ("cache_config", "model_config", "scheduler_config"):
        setattr(found, part, copy.copy(getattr(config, part)))
    return found


def _groups(planned: Any) -> list[Line]:
    return [{"layers": len(g.layer_names), "sliding_window": None, **_spec(g.kv_cache_spec)} for g in planned.kv_cache_groups]


def _spec(spec: Any) -> Line:
    line: Line = {"spec": type(spec).__name__, "block_size": getattr(spec, "block_size", None), "page_size_bytes": spec.page_size_bytes}
    line |= {k: v for k in SPEC_FIELDS if (v := getattr(spec, k, None)) is not None}
    line |= {k: _text(v) for k in ("dtype", "cache_dtype_str") if (v := getattr(spec, k, None)) is not None}
    if getattr(spec, "shapes", None) is not None:
        line["shapes"] = [list(x) for x in spec.shapes]
        line["dtypes"] = [_text(x) for x in spec.dtypes]
    inner = getattr(spec, "kv_cache_specs", None)
    if isinstance(inner, dict):
        kinds = Counter(json.dumps(_spec(x), sort_keys=True) for x in inner.values())
        line["inner"] = [{**json.loads(k), "layers": n} for k, n in kinds.items()]
    return line


def _text(value: Any) -> str:
    return str(value).replace("torch.", "")


def _allocated(planned: Any) -> int:
    """Bytes on one rank. Newer versions let every tensor of a rank name one shared allocation: those sizes must not be added up."""
    tensors = [t for t in planned.kv_cache_tensors if not getattr(t, "host_resident", False)]
    if tensors and hasattr(tensors[0], "layer_stride"):
        return max(int(t.size) for t in tensors)
    packed = [int(t.size) for t in tensors if getattr(t, "block_stride", 0)]  # 0.26.0, DeepSeek-V4: every tensor names the full size
    return max(packed, default=0) + sum(int(t.size) for t in tensors if not getattr(t, "block_stride", 0))


def _pages(specs: dict[str, Any]) -> list[Line]:
    kinds = Counter((type(s).__name__, s.page_size_bytes, getattr(s, "block_size", None)) for s in specs.values())
    return [{"spec": k[0], "page_size_bytes": k[1], "block_size": k[2], "layers": n} for k, n in kinds.items()]


def shapes(rank: Rank) -> Line:
    """Exact bytes of one rank's parameters and buffers, its attention and runner."""
    config, model = rank.config, rank.model
    backends = Counter(name for m in model.modules() if (name := _backend(m)))
    line: Line = {
        "architecture": type(model).__name__,
        "runner": "v2" if is_v2(config) else "v1",
        "attention": next(iter(backends), None),
        "attention_layers": dict(backends),
        "param_bytes": _bytes(model.parameters()),
        "n_params": sum(p.numel() for p in model.parameters()),
        "param_bytes_by_dtype": _by(model.parameters(), lambda p: _text(p.dtype)),
        "buffer_bytes": _bytes(model.buffers()),
        "block_size": config.cache_config.block_size,
    }
    if config.model_config.quantization:
        line["quantization"] = str(config.model_config.quantization)
    if rank.draft is not None:
        parts = {id(p): _part(name) for name, p in rank.draft.named_parameters()}
        line["draft_architecture"] = type(rank.draft).__name__
        line["draft_param_bytes"] = _bytes(rank.draft.parameters())
        line["draft_param_bytes_by_part"] = _by(rank.draft.parameters(), lambda p: parts[id(p)])
    return line


def _backend(module: Any) -> str | None:
    try:
        return str(module.attn_backend.get_name())
    except (AttributeError, NotImplementedError):
        return None


def _part(name: str) -> str:
    if "lm_head" in name or "shared_head.head" in name:
        return "lm_head"
    return "embed_tokens" if "embed_tokens" in name else "layers"


def _unique(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(t): t for t in tensors}.values())


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in _unique(tensors))


def _by(tensors: Iterable[torch.Tensor], key: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for tensor in _unique(tensors):
        found[key(tensor)] = found.get(key(tensor), 0) + tensor.numel() * tensor.element_size()
    return found


def all_bytes(model: Any) -> int:
    """Bytes of parameters, buffers and tensors that layers keep as plain attributes."""
    kept = [v for m in model.modules() for v in vars(m).values() if isinstance(v, torch.Tensor)]
    return _bytes([*model.parameters(), *model.buffers(), *kept])


def defaults(args: Any) -> Line:
    """What vLLM resolves for the server and for the LLM class when nothing is stated."""
    found: Line = {}
    for context in (UsageContext.LLM_CLASS, UsageContext.OPENAI_API_SERVER):
        config = args().create_engine_config(context)
        scheduler, cache, compilation = config.scheduler_config, config.cache_config, config.compilation_config
        sizes = compilation.cudagraph_capture_sizes or []
        found[context.name] = {
            "max_num_batched_tokens": scheduler.max_num_batched_tokens,
            "max_num_seqs": scheduler.max_num_seqs,
            "async_scheduling": scheduler.async_scheduling,
            "gpu_memory_utilization": cache.gpu_memory_utilization,
            "max_model_len": config.model_config.max_model_len,
            "cudagraph_mode": str(compilation.cudagraph_mode),
            "n_capture_sizes": len(sizes),
            "max_capture_size": max(sizes, default=0),
            "prefix_caching": cache.enable_prefix_caching,
            "chunked_prefill": scheduler.enable_chunked_prefill,
            "kv_cache_dtype": str(cache.cache_dtype),
        }
    return found
