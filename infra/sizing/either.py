"""What a request leaves open that decides the cache: every reading of it is sized, and a verdict stands only where they agree."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from interlock.infra.sizing.kv.formats import DEFAULT, FORMATS, LARGEST, SMALLEST
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.request import SizingRequest
from interlock.infra.sizing.result import Estimate, SizingResult, Verdict
from interlock.infra.sizing.settings import Resolved

Sizer = Callable[[SizingRequest], SizingResult]


def _open(found: Resolved) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(what is not known, cache types between which it lies)."""
    stated = (found.request.kv_cache_dtype or "").lower()
    if stated not in DEFAULT and stated not in FORMATS:
        yield f"kv_cache_dtype {stated[:40]!r} is not a type whose size is known: between 4 and 16 bit", (SMALLEST, LARGEST)
    stored, declared = found.facts.quantization if found.facts else None, found.request.config is not None
    if stated in DEFAULT and stored is not None and stored.scheme is Scheme.NVFP4 and not stored.declared and not declared:
        yield "an NVFP4 checkpoint that is known by its name may ask for an fp8 cache: 8 or 16 bit", ("fp8", "bfloat16")


def settled(found: Resolved, answer: SizingResult, sizer: Sizer) -> SizingResult:
    """The answer, bounded by every reading of what is open; ``unsure`` where their verdicts differ."""
    for note, types in _open(found):
        readings = [sizer(replace(found.request, kv_cache_dtype=each)) for each in types]
        answer = _bounded(answer, readings, note)
    return answer


def _bounded(answer: SizingResult, readings: list[SizingResult], note: str) -> SizingResult:
    changes: dict[str, Any] = {"unknown": (note, *answer.unknown)}
    for name in ("kv_tokens", "max_concurrency"):
        found = [estimate for each in (answer, *readings) if isinstance(estimate := getattr(each, name), Estimate)]
        if found:
            likely = getattr(answer, name) or found[0]
            low, high = min(each.low for each in found), max(each.high for each in found)
            changes[name] = Estimate(low=low, likely=likely.likely, high=high)
    lengths = [each.longest_model_len for each in (answer, *readings) if each.longest_model_len is not None]
    if lengths:
        changes["longest_model_len"] = min(lengths)
    if len({each.verdict for each in readings}) > 1:
        changes |= {"verdict": Verdict.UNSURE, "reasons": (note, *answer.reasons), "refusals": ()}
    return replace(answer, **changes)
