"""What models read beside text, from vLLM's own classes (model_inputs.json)."""

from functools import cache
from types import MappingProxyType

from interlock.infra.catalog.tables import table


@cache
def _inputs() -> MappingProxyType[str, frozenset[str]]:
    return MappingProxyType({name: frozenset(kinds) for name, kinds in table("model_inputs.json")["inputs"].items()})


def inputs(architecture: str) -> frozenset[str] | None:
    """``image``, ``video``, ``audio``, and ``transcription`` for what /v1/audio/transcriptions answers; empty for text alone, None where no
    version that was read has a class for it."""
    return _inputs().get(architecture)
