"""Pretends eight NVIDIA H200 to vLLM, Triton and torch on a machine without a GPU. Import it before vllm.

Only import and planning paths are answered; nothing is launched, so a call that would compute fails.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import tempfile
import types
from typing import Any

NAME, CAPABILITY, CARDS = "NVIDIA H200", (9, 0), 8
MEMORY = 150_000_000_000
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_LOGGING_LEVEL": "CRITICAL",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "OMP_NUM_THREADS": "1",
    "DO_NOT_TRACK": "1",
    "HUMMING_DISABLE_PARALLEL_BUILD": "1",  # else its import starts compilers in the background
    # DeepGEMM's import only wants it to be set.
    "CUDA_HOME": os.environ.get("CUDA_HOME", tempfile.gettempdir()),
}


class Quiet:
    """Stands for a stream, an event or a driver library: every method does nothing."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def nvml() -> types.ModuleType:
    """A module with the NVML calls that vLLM makes while it plans."""
    module: Any = types.ModuleType("vllm.third_party.pynvml")
    module.NVMLError = type("NVMLError", (Exception,), {})
    module.nvmlInit = module.nvmlShutdown = lambda *_: None
    module.nvmlDeviceGetCount = lambda: CARDS
    module.nvmlDeviceGetHandleByIndex = lambda index: index
    module.nvmlDeviceGetName = lambda _: NAME
    module.nvmlDeviceGetUUID = lambda index: f"GPU-{index}"
    module.nvmlDeviceGetCudaComputeCapability = lambda _: CAPABILITY
    module.nvmlDeviceGetMemoryInfo = lambda _: types.SimpleNamespace(total=MEMORY, free=MEMORY, used=0)
    module.nvmlDeviceGetNumaNodeId = lambda _: 0
    return module


class NvmlFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves the pretended NVML in place of the copy that vLLM brings."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name == "vllm.third_party.pynvml" else None

    def create_module(self, _: Any) -> types.ModuleType:
        return nvml()

    def exec_module(self, _: Any) -> None:
        pass


def install() -> None:
    """Everything that import-time and constructor code asks of a driver, answered with an H200's figures."""
    os.environ.update(ENVIRONMENT)
    sys.meta_path.insert(0, NvmlFinder())
    _triton()
    _torch()


def _triton() -> None:
    import triton.backends
    import triton.backends.nvidia.driver as nvidia

    for name, backend in triton.backends.backends.items():
        backend.driver.is_active = staticmethod(lambda name=name: name == "nvidia")
    figures = {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32}
    clocks = {"sm_clock_rate": 1980000, "mem_clock_rate": 3201000, "mem_bus_width": 6144}

    class Utils(Quiet):
        def get_device_properties(self, _: int) -> dict[str, int]:
            return figures | clocks

    nvidia.CudaUtils = Utils
    nvidia.CudaDriver.is_active = staticmethod(lambda: True)


def _torch() -> None:
    import torch

    properties = types.SimpleNamespace(
        name=NAME,
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        multi_processor_count=132,
        total_memory=MEMORY,
        warp_size=32,
        shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472,
        L2_cache_size=60 << 20,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
    )
    answers: dict[Any, dict[str, Any]] = {
        torch.cuda: {
            "get_device_properties": properties,
            "get_device_capability": CAPABILITY,
            "get_device_name": NAME,
            "current_device": 0,
            "device_count": CARDS,
            "current_stream": Quiet(),
            "set_device": None,
            "synchronize": None,
            "empty_cache": None,
        },
        torch.accelerator: {"current_device_index": 0, "empty_cache": None, "synchronize": None},
    }
    for module, values in answers.items():
        for name, value in values.items():
            # One function each: torch's tracer refuses one object under two names.
            setattr(module, name, lambda *_, value=value, **__: value)
    torch.cuda.Stream = torch.cuda.Event = torch.Stream = torch.Event = Quiet
    torch.set_num_threads(1)
