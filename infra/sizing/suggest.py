"""What would fit: changes that are checked with the same sizing before they are offered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from interlock.infra.catalog.gpus import gpu, gpus
from interlock.infra.catalog.models import siblings
from interlock.infra.sizing.described import model_of
from interlock.infra.sizing.request import SizingRequest
from interlock.infra.sizing.result import SizingResult, Suggestion, Verdict

_USUAL_SHARE = 0.9
"""Of a card that an engine has alone."""
_CAREFUL_SHARE = 0.85
_SHORTEST = 4096
"""Fewest tokens of context for which more ranks are offered."""
Sizer = Callable[[SizingRequest], SizingResult]


def _lengths(request: SizingRequest, answer: SizingResult) -> Iterator[tuple[dict[str, Any], str]]:
    longest = answer.longest_model_len or 0  # the one length that the answer names everywhere
    if longest and (request.max_model_len is None or longest < request.max_model_len):
        yield {"max_model_len": longest}, f"--max-model-len {longest}"


def _utilization(request: SizingRequest) -> Iterator[tuple[dict[str, Any], str]]:
    """A share of the card that was stated low, on a card that nobody else is known to use."""
    if request.gpu_memory_utilization is not None and request.gpu_memory_utilization < _USUAL_SHARE and request.sharers < 2:
        yield {"gpu_memory_utilization": _USUAL_SHARE}, f"--gpu-memory-utilization {_USUAL_SHARE}"


def _parallel(request: SizingRequest) -> Iterator[tuple[dict[str, Any], str]]:
    for tp in (2, 4, 8):
        if tp > request.tp:
            yield {"tp": tp}, f"--tensor-parallel-size {tp}"


def _cached(request: SizingRequest) -> Iterator[tuple[dict[str, Any], str]]:
    if request.kv_cache_dtype in (None, "auto"):
        yield {"kv_cache_dtype": "fp8"}, "--kv-cache-dtype fp8"


def _stored(request: SizingRequest) -> Iterator[tuple[dict[str, Any], str]]:
    """Checkpoints in fewer bits, with one that the catalog lists where there is one."""
    if request.quantization is None and request.config is None and not request.checkpoint_bytes:
        if _takes_fp8(request):
            yield {"quantization": "fp8"}, f"an fp8 checkpoint{_such_as(request, 8)}"
        yield {"quantization": "awq"}, f"a 4-bit checkpoint (AWQ){_such_as(request, 4)}"


def _such_as(request: SizingRequest, bits: int) -> str:
    found = next((name for name, size in siblings(request.model or "") if size == bits), None)
    return f" such as {found}" if found else ""


def _together(request: SizingRequest, sizer: Sizer) -> Iterator[tuple[dict[str, Any], str]]:
    """More ranks with a checkpoint in fewer bits, then more ranks with a shorter context, the fewest ranks first."""
    ranks = list(_parallel(request))
    for more, flag in ranks:
        for change, text in _stored(request):
            yield more | change, f"{flag} with {text}"
            if request.gpu_memory_utilization is None:  # collectives of small cards may need more than the default leaves
                less = {"gpu_memory_utilization": _CAREFUL_SHARE}
                yield more | change | less, f"{flag} with {text} and --gpu-memory-utilization {_CAREFUL_SHARE}"
    for more, flag in ranks:
        longest = sizer(replace(request, **more)).longest_model_len or 0
        if longest >= _SHORTEST:
            yield more | {"max_model_len": longest}, f"{flag} with --max-model-len {longest}"


def _takes_fp8(request: SizingRequest) -> bool:
    """Whether the card has kernels for 8-bit floats: in hardware, or by Marlin from compute capability 8.0 on."""
    card = gpu(request.gpu) if request.gpu else None
    return card is None or card.compute_capability >= 8.0


def _pools(request: SizingRequest, answer: SizingResult) -> Iterator[tuple[dict[str, Any], str]]:
    current = answer.total_gib.likely if answer.total_gib else 0.0
    known = gpu(request.gpu) if request.gpu else None
    if known is None or request.gpu_total_gib:
        return
    larger = sorted(
        (card for card in gpus() if card.pooled and card.memory_gib.likely > current * 1.1 and not card.unified_memory),
        key=lambda c: c.memory_gib.likely,
    )
    for card in larger:
        yield {"gpu": card.name}, f"a pool of {card.name} ({card.memory_gib.likely:.0f} GiB)"


def _encoders(request: SizingRequest) -> Iterator[tuple[dict[str, Any], str]]:
    """Of a model with an encoder, the profile run holds its largest item: a video, then an image."""
    facts = model_of(request)
    if facts is None or not facts.multimodal:
        return
    if facts.vision and not request.no_video:
        yield {"no_video": True}, """--limit-mm-per-prompt '{"video": 0}' (images only)"""
    yield {"language_model_only": True}, """--limit-mm-per-prompt '{"image": 0, "video": 0}' (text only)"""


def suggestions(request: SizingRequest, sizer: Sizer) -> tuple[Suggestion, ...]:
    """At most one change of each kind (more of the card, shorter context, more ranks, other storage, fewer inputs, other pool), each of
    which surely fits. Where neither more ranks nor fewer bits do alone, or more ranks only, the two together stand beside it."""
    answer = sizer(request)

    def first(ways: Iterator[tuple[dict[str, Any], str]]) -> tuple[Suggestion, ...]:
        fitting = (way for way in ways if sizer(replace(request, **way[0])).verdict is Verdict.FITS)
        return tuple(Suggestion(change=change, text=text) for change, text in islice(fitting, 1))

    ranks, stored = first(_parallel(request)), first(chain(_cached(request), _stored(request)))
    together = () if stored else first(way for way in _together(request, sizer) if _fewer(way[0], ranks))
    return (
        *first(_utilization(request)),
        *first(_lengths(request, answer)),
        *ranks,
        *stored,
        *together,
        *first(_encoders(request)),
        *first(_pools(request, answer)),
    )


def _fewer(change: dict[str, Any], ranks: Sequence[Suggestion]) -> bool:
    """Whether two changes together take fewer ranks than more ranks alone."""
    return not ranks or change["tp"] < ranks[0].change["tp"]
