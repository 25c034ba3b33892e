"""What may be said about a model whose config is not read exactly: no parameter bytes, and no verdict where its cache may differ too."""

import re
from collections.abc import Iterator

from interlock.infra.catalog.architectures import known
from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import known_family, known_wrapper
from interlock.infra.sizing.refusals.collect import doubts as unproven
from interlock.infra.sizing.result import SizingResult, Verdict
from interlock.infra.sizing.settings import Resolved

# Heads that vLLM puts on any decoder (model_executor/models/adapters.py).
_ADAPTED = re.compile(
    r"(For(SequenceClassification|TokenClassification|RewardModel|TextEncoding)|(Embedding|Classification|Reward)?Model)$"
)


def not_compared(facts: ModelFacts) -> Iterator[tuple[bool, str]]:
    """(whether the cache is in doubt too, why) of everything about a model that nobody compared with vLLM."""
    served = {facts.architecture, _ADAPTED.sub("ForCausalLM", facts.architecture)}
    if facts.architecture and not served & known():
        yield True, f"architecture {facts.architecture} is not one that vLLM is known to serve: read as a usual decoder"
    flat = facts.outer_type == facts.model_type and known_wrapper(facts.model_type)  # the language model's fields beside the towers'
    if facts.model_type and not known_family(facts.model_type) and not flat:
        yield True, f"model type {facts.model_type} is not known: read as a usual decoder"
    towers = facts.multimodal and facts.outer_type != facts.model_type
    if towers and facts.outer_type and not known_wrapper(facts.outer_type):
        yield False, f"the towers of model type {facts.outer_type} are not known: counted roughly"


def _narrow(answer: SizingResult) -> bool:
    """Whether a request of twice the size would not fit for sure."""
    return answer.max_concurrency is None or answer.max_concurrency.low < 2


def doubted(found: Resolved, answer: SizingResult) -> SizingResult:
    """The answer with what is not known about the model said, and without figures that would be guesses. A refusal stands."""
    doubts = list(not_compared(found.facts)) if found.facts is not None else []
    doubts += [(True, text) for text in unproven(found)]
    compressed = found.facts is not None and is_compressed(found.facts.text)
    if compressed and not since("compressed_cache_compared", found.version) and _narrow(answer):
        doubts.append((True, "the compressed cache is compared with vLLM from 0.26 on: earlier versions may take up to twice as much"))
    if not doubts:
        return answer
    notes = tuple(text for _, text in doubts)
    changes: dict[str, object] = {"unknown": (*answer.unknown, *notes), "param_bytes": None}
    refused = answer.verdict is Verdict.DOES_NOT_FIT and answer.kv_available_gib is None
    if any(cache for cache, _ in doubts) and not refused:
        changes |= {"refusals": (), "verdict": Verdict.UNSURE, "reasons": (*notes, *answer.reasons)}
    return answer.model_copy(update=changes)
