"""The GPUs as the driver's library (NVML) describes them, read with ctypes: the image needs no package for it."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
NOT_SUPPORTED = 3
INSUFFICIENT_SIZE = 7
MOST_PROCESSES = 64
GPU_SENSOR = 0
"""NVML_TEMPERATURE_GPU."""


class UnseenError(Exception):
    """NVML cannot be asked; the text says why."""


@dataclass(frozen=True)
class Card:
    """One GPU. Memory in MiB. ``processes``: compute processes on it; None where the driver does not say. ``mig``: MIG mode is on."""

    name: str
    memory_mib: int
    used_mib: int
    processes: int | None
    mig: bool
    slices: tuple[str, ...] = ()
    """Names of the MIG devices that this container sees on it."""


@dataclass(frozen=True)
class Machine:
    """What NVML tells: the driver's version (`580.82.07`), and the cards."""

    driver: str
    cards: tuple[Card, ...]


class Memory(ctypes.Structure):
    """nvmlMemory_t, bytes."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Process(ctypes.Structure):
    """nvmlProcessInfo_v2_t, what nvmlDeviceGetComputeRunningProcesses_v3 fills."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def read(load: Callable[[str], Any] = ctypes.CDLL) -> Machine:
    """Asks NVML. Raises UnseenError when the library is missing or does not answer."""
    try:
        library = load(LIBRARY)
    except OSError:
        raise UnseenError(f"NVML is missing ({LIBRARY}): no driver is mounted into this container") from None
    _call(library, "nvmlInit_v2")
    try:
        count = ctypes.c_uint()
        _call(library, "nvmlDeviceGetCount_v2", ctypes.byref(count))
        driver = _text(library, "nvmlSystemGetDriverVersion")
        return Machine(driver, tuple(_card(library, index) for index in range(count.value)))
    finally:
        library.nvmlShutdown()


def hottest(load: Callable[[str], Any] = ctypes.CDLL) -> int | None:
    """Degrees Celsius of the hottest card that this container sees; None when nobody can say."""
    try:
        library = load(LIBRARY)
        _call(library, "nvmlInit_v2")
    except (OSError, UnseenError):
        return None
    try:
        count, found = ctypes.c_uint(), list[int]()
        _call(library, "nvmlDeviceGetCount_v2", ctypes.byref(count))
        for index in range(count.value):
            handle, celsius = ctypes.c_void_p(), ctypes.c_uint()
            _call(library, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
            _call(library, "nvmlDeviceGetTemperature", handle, ctypes.c_int(GPU_SENSOR), ctypes.byref(celsius))
            found.append(int(celsius.value))
        return max(found, default=None)
    except UnseenError:
        return None
    finally:
        library.nvmlShutdown()


def _card(library: Any, index: int) -> Card:
    handle = ctypes.c_void_p()
    _call(library, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
    memory = Memory()
    _call(library, "nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
    now, later = ctypes.c_uint(), ctypes.c_uint()
    answered = library.nvmlDeviceGetMigMode(handle, ctypes.byref(now), ctypes.byref(later)) == 0
    mig = answered and now.value == 1
    slices = _slices(library, handle) if mig else ()
    return Card(
        _text(library, "nvmlDeviceGetName", handle), memory.total >> 20, memory.used >> 20, _processes(library, handle), mig, slices
    )


def _slices(library: Any, handle: ctypes.c_void_p) -> tuple[str, ...]:
    most = ctypes.c_uint()
    _call(library, "nvmlDeviceGetMaxMigDeviceCount", handle, ctypes.byref(most))
    found = []
    for index in range(most.value):
        part = ctypes.c_void_p()
        if library.nvmlDeviceGetMigDeviceHandleByIndex(handle, ctypes.c_uint(index), ctypes.byref(part)) == 0:
            found.append(_text(library, "nvmlDeviceGetName", part))
    return tuple(found)


def _processes(library: Any, handle: ctypes.c_void_p) -> int | None:
    count, found = ctypes.c_uint(MOST_PROCESSES), (Process * MOST_PROCESSES)()
    code = library.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), found)
    return int(count.value) if code in (0, INSUFFICIENT_SIZE) else None


def _text(library: Any, name: str, *arguments: Any) -> str:
    buffer = ctypes.create_string_buffer(96)
    _call(library, name, *arguments, buffer, ctypes.c_uint(len(buffer)))
    return buffer.value.decode("utf-8", "replace")


def _call(library: Any, name: str, *arguments: Any) -> None:
    try:
        code = getattr(library, name)(*arguments)
    except AttributeError:
        raise UnseenError(f"this driver's NVML has no {name}") from None
    if code:
        library.nvmlErrorString.restype = ctypes.c_char_p
        why = library.nvmlErrorString(code)
        raise UnseenError(f"{name} answers {code} ({(why or b'?').decode('utf-8', 'replace')})")
