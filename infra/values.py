"""Units, quantities and versions: Kubernetes quantities to plain numbers and back, sizes in bytes, durations in seconds, releases."""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

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
    found = _number(str(text))
    if found is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity such as 2, 500m, 16Gi")
    return found


@lru_cache(maxsize=4096)
def _number(text: str) -> Decimal | None:
    """The number of a quantity, None for another text; documents hold the same few again and again."""
    match = _QUANTITY.match(text.strip())
    if not match:
        return None
    number, exponent, suffix = match.groups()
    return Decimal(number + (exponent or "")) * _SUFFIXES[suffix or ""]


@lru_cache(maxsize=1024)
def is_quantity(text: str) -> bool:
    """Whether a text is a Kubernetes quantity."""
    try:
        quantity(text)
    except ValueError:
        return False
    return True


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


def some(names: Iterable[str], most: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    listed = list(names)
    return ", ".join(listed[:most]) + (f", and {len(listed) - most} more" if len(listed) > most else "")


def plural(count: float, noun: str) -> str:
    """``1 GPU``, ``2 GPUs``, ``0 GPUs``: a count with its noun."""
    return f"{count:g} {noun}" + ("" if count == 1 else "s")


# What stands before a release and after it (PEP 440); 0 is the release itself.
_STAGES = {"dev": -4, "a": -3, "b": -2, "rc": -1, "post": 1}
_NUMBERS = r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:(?:[.-]?(rc|dev|post)|(a|b)(?=\d))(\d*)(?![a-zA-Z]))?"
_TAG, _ANYWHERE = re.compile(rf"v?{_NUMBERS}"), re.compile(rf"(?<![\d.])v?(?=\d{{1,2}}\.){_NUMBERS}")


class Version(NamedTuple):
    """A version of vLLM, Ray or Kubernetes, ordered: builds before a release (dev, a, b, rc) sort before it, a post-release after it."""

    major: int
    minor: int
    patch: int = 0
    micro: int = 0
    stage: int = 0
    """Below 0 before the release, 0 for the release itself, 1 after it."""
    serial: int = 0
    """Number of the build in its stage (1 of ``rc1``)."""

    @property
    def release(self) -> "Version":
        """The release that a build belongs to: ``0.33.0`` of ``0.33.0rc1``."""
        return self._replace(stage=0, serial=0)

    @staticmethod
    def parse(text: str) -> "Version | None":
        """The version that a release or an image tag begins with (``v0.9.0.1-cu124``, ``0.33.0rc1``); None for ``latest`` and its kind."""
        return _version(_TAG.match(text))

    @staticmethod
    def find(text: str) -> "Version | None":
        """The first version anywhere in a text (``>=0.27``, ``vllm 0.11.0 on H100``); None when there is none."""
        return _version(_ANYWHERE.search(text))

    @staticmethod
    def released(text: str) -> "Version | None":
        """The release that a text names anywhere, whatever build of it (``0.33.0`` of ``>=0.33.0rc1``); None when it names none."""
        found = Version.find(text)
        return found.release if found else None

    def __str__(self) -> str:
        numbers = f"{self.major}.{self.minor}.{self.patch}" + (f".{self.micro}" if self.micro else "")
        name = next((name for name, stage in _STAGES.items() if stage == self.stage), "")
        return numbers + (f"{'.' if name in ('dev', 'post') else ''}{name}{self.serial}" if name else "")


def _version(match: re.Match[str] | None) -> Version | None:
    if match is None:
        return None
    major, minor, patch, micro, word, letter, serial = match.groups()
    stage = word or letter
    return Version(int(major), int(minor), int(patch or 0), int(micro or 0), _STAGES[stage] if stage else 0, int(serial or 0))
