"""Units and quantities: Kubernetes quantities to plain numbers and back, sizes in bytes, durations in seconds."""

import re
from decimal import Decimal

KIB, MIB, GIB, TIB = 1024, 1024**2, 1024**3, 1024**4

# Kubernetes API conventions, "Quantity": decimal and binary suffixes.
_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(KIB),
    "Mi": Decimal(MIB),
    "Gi": Decimal(GIB),
    "Ti": Decimal(TIB),
    "Pi": Decimal(1024**5),
    "Ei": Decimal(1024**6),
}
_QUANTITY = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$")
_DURATION = re.compile(r"^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$")


def quantity(text: str | int | float) -> Decimal:
    """The plain number of a Kubernetes quantity (``"500m"`` -> 0.5, ``"2Gi"`` -> 2147483648). Raises ValueError."""
    if isinstance(text, bool):
        raise ValueError(f"{text} is a boolean, not a quantity")
    match = _QUANTITY.match(str(text).strip())
    if not match:
        raise ValueError(f"{text!r} is not a Kubernetes quantity such as 2, 500m, 16Gi")
    number, exponent, suffix = match.groups()
    return Decimal(number + (exponent or "")) * _SUFFIXES[suffix or ""]


def bytes_of(text: str | int | float) -> int:
    """A quantity of memory or storage in bytes, rounded down."""
    return int(quantity(text))


def binary(size: int) -> str:
    """A size in bytes as the shortest exact Kubernetes quantity (``17179869184`` -> ``"16Gi"``)."""
    for suffix in ("Ti", "Gi", "Mi", "Ki"):
        unit = int(_SUFFIXES[suffix])
        if size and size % unit == 0:
            return f"{size // unit}{suffix}"
    return str(size)


def gib(size: float) -> str:
    """A size in bytes for people, in GiB."""
    return f"{size / GIB:.1f} GiB"


def seconds(text: str | int | float) -> float:
    """A duration such as ``600s``, ``10m``, ``1h30m``, ``500ms`` or a plain number of seconds. Raises ValueError."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        return float(text)
    raw = str(text).strip()
    if re.fullmatch(r"\d+(\.\d+)?", raw):
        return float(raw)
    match = _DURATION.match(raw)
    if not match or not any(match.groups()):
        raise ValueError(f"{text!r} is not a duration such as 600s, 10m or 1h30m")
    hours, minutes, secs, millis = match.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(secs or 0) + int(millis or 0) / 1000


def plural(count: float, noun: str) -> str:
    """``1 GPU``, ``2 GPUs``, ``0 GPUs``: a count with its noun."""
    return f"{count:g} {noun}" + ("" if count == 1 else "s")
