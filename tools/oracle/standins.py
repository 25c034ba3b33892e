"""What stands in for a GPU while vLLM's code runs on the meta device: streams, communicators, reads of values, kernels without a fake."""

import contextlib
import importlib
import types
from collections.abc import Callable
from typing import Any

import torch
import vllm
import vllm.distributed.parallel_state as ps
from torch.nn import functional
from vllm.platforms import current_platform

from tools.oracle import lifetimes, ranks
from tools.oracle.fake_gpu import MEMORY, Quiet

FREE = MEMORY // 2


class OnMeta(ranks.OnMeta):
    """As the oracle's, and: no pinned memory, no NaN in weights that were never loaded, torch's attention as its flash kernel."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        kwargs.pop("pin_memory", None)
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func in (torch.isnan, torch.Tensor.isnan):
            return torch.zeros(1, dtype=torch.bool, device="cpu")
        if func is functional.scaled_dot_product_attention:
            return _flash(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)


def _flash(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    """What torch's flash or memory-efficient kernel allocates: the output (tokens before heads) and one float per row."""
    batch, heads, length, _width = query.shape
    out = torch.empty((batch, length, heads, value.shape[-1]), dtype=query.dtype, device=query.device).transpose(1, 2)
    sums = torch.empty((batch, heads, length), dtype=torch.float32, device=query.device)
    del sums
    return out


class Communicator:
    """What vLLM's device communicator allocates (DeviceCommunicatorBase, and NCCL's out-of-place all-reduce)."""

    disabled = True

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size

    def all_reduce(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(tensor)

    def all_gather(self, tensor: torch.Tensor, dim: int = -1) -> torch.Tensor:
        dim, size = dim % tensor.dim(), tensor.size()
        gathered = torch.empty((size[0] * self.world_size, *size[1:]), dtype=tensor.dtype, device=tensor.device)
        gathered = gathered.reshape((self.world_size, *size)).movedim(0, dim)
        return gathered.reshape((*size[:dim], self.world_size * size[dim], *size[dim + 1 :]))

    def gather(self, tensor: torch.Tensor, dst: int = 0, dim: int = -1) -> torch.Tensor:
        return torch.cat([torch.empty_like(tensor) for _ in range(self.world_size)], dim=dim)

    def reduce_scatter(self, tensor: torch.Tensor, dim: int = -1) -> torch.Tensor:
        dim = dim % tensor.dim()
        moved = tensor.movedim(0, dim).contiguous()
        shape = (moved.shape[0] // self.world_size, *moved.shape[1:])
        return torch.empty(shape, dtype=tensor.dtype, device=tensor.device).movedim(0, dim).contiguous()


def install() -> None:
    """Streams that do nothing; scale layouts of DeepGEMM, which keeps float scales as they are on compute capability 9.0."""
    torch.cuda.set_stream = torch.cuda._lazy_init = lambda *_, **__: None
    torch.cuda.stream = torch.cuda.device = lambda *_, **__: _Nothing()
    torch.accelerator.get_memory_info = lambda *_, **__: (FREE, MEMORY)
    torch.cuda.is_current_stream_capturing = lambda: False
    from vllm.utils import torch_utils

    torch_utils._current_stream_tls.value = Quiet()
    lifetimes.FAKES.update(FAKES)
    _deep_gemm()
    _humming()
    _tilelang()


def _tilelang() -> None:
    """Kernels that are compiled when they are called write into tensors that are given: their calls do nothing."""
    try:
        jit = importlib.import_module("tilelang.jit")
    except ImportError:
        return
    jit.JITImpl.__call__ = lambda *_, **__: None
    with contextlib.suppress(ImportError):
        helper = importlib.import_module("vllm.model_executor.warmup.jit_warmup_cutedsl_helper")
        helper.VllmCuTeDSLJitKernel._get_or_compile = lambda *_, **__: lambda *_, **__: None


def _humming() -> None:
    """Humming asks the driver for the card in an extension of its own."""
    try:
        device = importlib.import_module("humming.device")
    except ImportError:
        return
    figures = types.SimpleNamespace(
        index=0, name="NVIDIA H200", is_ppu=False, sm_count=132, sm_major=9, sm_minor=0, sm_version=90, max_threads_per_sm=2048,
        max_threads_per_block=1024, max_registers_per_sm=65536, l2_cache_size=60 << 20, l2_cache_size_mb=60.0, max_smem_size=232448,
        max_smem_size_per_block=232448, max_smem_size_per_sm=233472,
    )  # fmt: skip
    device.DeviceInfo.__new__ = lambda *_, **__: figures
    device.DeviceInfo._get_value = lambda _: figures


def _deep_gemm() -> None:
    """Where DeepGEMM is a plain C++ module (0.26, 0.29) its functions are replaced: products go into tensors that are given."""
    import vllm.utils.deep_gemm as module

    module._lazy_init()
    for name in vars(module):
        if name.endswith("_impl") and "_gemm" in name and not isinstance(getattr(module, name), torch._ops.OpOverloadPacket):
            setattr(module, name, lambda *_, **__: None)
    module._transform_sf_into_required_layout_impl = lambda sf, *_, **__: sf


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: Any) -> None:
        return None


def _unique(tensor: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return tensor.new_empty(1), tensor.new_empty(0, dtype=torch.int64), tensor.new_empty(0, dtype=torch.int64)


def _attention(query: torch.Tensor, *others: Any, **__: Any) -> tuple[torch.Tensor, ...]:
    """FlashAttention 3: the output, unless one is given as the seventh argument, and one float per head and row."""
    given = others[5] if len(others) > 5 else None
    sums = torch.empty(query[..., 0].numel(), dtype=torch.float32, device=query.device)
    return (torch.empty_like(query) if given is None else given), sums, sums.new_empty(0), sums.new_empty(0)


def _grouped_topk(scores: torch.Tensor, _groups: int, _taken: int, topk: int, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
    rows = scores.shape[0]
    return scores.new_empty((rows, topk), dtype=torch.float32), scores.new_empty((rows, topk), dtype=torch.int32)


# Results of operations without a meta kernel.
FAKES: dict[str, Callable[..., Any]] = {
    "deep_gemm::transform_sf_into_required_layout": lambda sf, *_, **__: sf,
    "aten::_unique2": _unique,
    "_moe_C::grouped_topk": _grouped_topk,
    "_moe_C::moe_permute_sort_workspace_size": lambda *_, **__: 1 << 20,
    "_moe_C::moe_wna16_marlin_gemm": lambda inputs, output, *_, **__: output,
    "_vllm_fa3_C::fwd": _attention,
}


def worker(config: Any) -> None:
    """What a worker does before it loads: the kernels of vLLM's IR operations, and communicators."""
    if hasattr(current_platform, "import_ir_kernels"):
        current_platform.import_ir_kernels()
    if priority := getattr(config.kernel_config, "ir_op_priority", None):
        priority.set_default()
    if hasattr(config.compilation_config, "ir_enable_torch_wrap"):
        vllm.ir.set_default_torch_wrap(config.compilation_config.ir_enable_torch_wrap)
    for group in (reference() for reference in ps._groups.values()):
        if group is not None and group.world_size > 1:
            group.device_communicator = Communicator(group.world_size)
