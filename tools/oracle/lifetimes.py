"""Which tensors live at the same time while vLLM's code runs on the meta device: peak bytes and what was live at the peak.

Every operation passes a dispatch mode: a storage that an operation made counts from then until Python or torch drops it. Kernels
are not run: a C++ operation without a meta kernel that returns nothing does nothing, Triton launches do nothing, and vLLM's custom
operations that are written in Python are entered, so that what they allocate is seen. An operation that could not be entered and
returns tensors gives its fake result and is named in `hidden`.
"""

import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

BLOCK = 512  # torch's CUDA allocator rounds every tensor up to this
OWN = ("aten", "prims", "prim", "inductor")
# Python implementations of custom operations, by name; filled while vLLM's modules are imported.
IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {}
# Results for operations that have no meta kernel.
FAKES: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True)
class Held:
    """One storage: its bytes, the tensor it was made for, the operation, and the line of vLLM that asked for it."""

    size: int
    shape: tuple[int, ...]
    dtype: str
    op: str
    line: str


class Lifetimes(TorchDispatchMode):
    """Counts what is made while it is active; use `counting` around the part that is measured."""

    def __init__(self, devices: Callable[[], Any]) -> None:
        """`devices`: the function mode that puts tensors on the meta device; torch leaves it where an operation is dispatched."""
        super().__init__()
        self.devices = devices
        self.live: dict[int, Held] = {}
        self.current = self.peak = 0
        self.at_peak: list[Held] = []
        self.hidden: set[str] = set()
        self.active = False
        self._references: dict[int, Any] = {}
        self._next = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        self.active = True
        try:
            with self:
                yield
        finally:
            self.active = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        known = {_key(t) for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        result = self._run(func, args, kwargs)
        if self.active:
            for tensor in tree_leaves(result):
                if isinstance(tensor, torch.Tensor) and tensor.device.type == "meta" and _key(tensor) not in known:
                    self.made(tensor, str(func))
        return result

    def made(self, tensor: torch.Tensor, op: str) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        size = -(-storage.nbytes() // BLOCK) * BLOCK
        if key in self._references or not size:
            return
        self._references[key] = weakref.ref(storage, partial(self._dropped, key))
        self.live[key] = Held(size, tuple(tensor.shape), str(tensor.dtype).replace("torch.", ""), op, _line())
        self.current += size
        if self.current > self.peak:
            self.peak, self.at_peak = self.current, list(self.live.values())

    def _dropped(self, key: int, _: Any = None) -> None:
        self._references.pop(key, None)
        if held := self.live.pop(key, None):
            self.current -= held.size

    def _run(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default and args[0].device.type == "meta":
            return 1
        name = str(func._schema.name)
        if name in FAKES:
            with self, self.devices():
                return FAKES[name](*args, **kwargs)
        if func.namespace in OWN:
            return _read(func, args, kwargs) if _leaves_the_device(func, args, kwargs) else func(*args, **kwargs)
        if name in IMPLEMENTATIONS:
            try:
                with self, self.devices():
                    return IMPLEMENTATIONS[name](*args, **kwargs)
            except Exception as error:
                self.hidden.add(f"{name} ({_raised(error)})")
        if not func._schema.returns:
            return None
        try:
            return func(*args, **kwargs)
        except NotImplementedError:
            mutated = [a for a, s in zip(args, func._schema.arguments, strict=False) if s.alias_info and s.alias_info.is_write]
            self.hidden.add(name)
            if len(mutated) == len(func._schema.returns):
                return mutated[0] if len(mutated) == 1 else tuple(mutated)
            raise


def _raised(error: Exception) -> str:
    """Why an operation could not be entered, and the innermost line of vLLM."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/vllm/" in frame.filename]
    place = f"{frames[-1].filename.rsplit('/vllm/', 1)[1]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__} at {place}: {str(error).splitlines()[0][:60] if str(error) else ''}"


def _leaves_the_device(func: Any, args: Any, kwargs: Any) -> bool:
    if func is torch.ops.aten.copy_.default:
        return bool(args[0].device.type == "cpu" and args[1].device.type == "meta")
    return func is torch.ops.aten._to_copy.default and str(kwargs.get("device")) == "cpu" and args[0].device.type == "meta"


def _read(func: Any, args: Any, kwargs: Any) -> Any:
    """Values that are read from a meta tensor are ones."""
    if func is torch.ops.aten.copy_.default:
        return args[0].fill_(1)
    return torch.ones(args[0].shape, dtype=kwargs.get("dtype") or args[0].dtype)


def _key(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _line() -> str:
    """The innermost line of vLLM (or of a model's own code) on the stack."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if "/vllm/" in path and "/_custom_ops" not in path and "/_ops.py" not in path:
            return f"{path.rsplit('/vllm/', 1)[1]}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def remember_custom_ops() -> None:
    """Keep the Python implementation of every custom operation that vLLM or its libraries register from here on."""
    define = torch.library.Library.impl

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        if callable(fn) and dispatch_key in ("CUDA", "CompositeExplicitAutograd", ""):
            name = op_name if isinstance(op_name, str) else op_name._schema.name
            IMPLEMENTATIONS[name if "::" in name else f"{self.ns}::{name}"] = fn
        return define(self, op_name, fn, dispatch_key, **kwargs)

    torch.library.Library.impl = impl


def no_kernels() -> None:
    """Triton launches do nothing."""
    import triton
    from triton.runtime import autotuner, jit

    for kind in (jit.JITFunction, autotuner.Autotuner, autotuner.Heuristics):
        kind.run = lambda self, *args, **kwargs: None
        kind.warmup = lambda self, *args, **kwargs: None
    triton.testing.do_bench = lambda *args, **kwargs: 0.0
