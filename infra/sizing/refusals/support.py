"""What may be said about a model whose config is not read exactly: no parameter bytes, and no verdict where its cache may differ too."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from interlock.infra.catalog.architectures import known
from interlock.infra.catalog.gpus import not_nvidia
from interlock.infra.catalog.models import find
from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.families import known_family, known_wrapper
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.refusal import Kind, Refusal
from interlock.infra.sizing.refusals.collect import doubtful
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


# Kinds of refusal that rest on the command line and the card alone.
_OWN = frozenset({Kind.SHARES, Kind.CARD, Kind.FREE_MEMORY, Kind.FORMAT, Kind.POOL, Kind.BLOCK_SIZE, Kind.SCHEDULING})


def _elsewhere(found: Resolved, answer: SizingResult) -> Iterator[tuple[bool, str]]:
    """(whether no verdict is possible, why) of what lies outside all that was compared."""
    facts, card = found.facts, found.request.gpu or ""
    if card and not_nvidia(card):
        yield True, f"{card[:60]} is not an NVIDIA GPU: no figure was ever compared on one, its kernels and libraries take other memory"
    if facts is not None and facts.quantization is not None and facts.quantization.scheme is Scheme.EXL:
        yield True, "EXL weights are read by plug-ins only: how they are held is not known"
    if facts is not None and not facts.verified:
        yield (
            bool(_remembered(found, answer)),
            f"{facts.name} is not verified against its config.json: its shapes inform, and refuse nothing",
        )


def _remembered(found: Resolved, answer: SizingResult) -> tuple[Refusal, ...]:
    """Refusals that rest on shapes which nobody compared with the model's own config.json: they are likely, and not certain."""
    facts = found.facts
    if facts is None or facts.verified:
        return ()
    entry = find(facts.name)
    heads: frozenset[Kind] = frozenset({Kind.HEADS}) if entry is not None and "num_attention_heads" in entry.proven else frozenset()
    rests = [each for each in answer.refusals if each.kind not in _OWN | heads]
    return tuple(replace(each, text=f"{each.text}, unless the model's own config.json says otherwise") for each in rests)


def _compressed_before(found: Resolved, answer: SizingResult) -> bool:
    facts = found.facts
    return facts is not None and is_compressed(facts.text) and not since("compressed_cache_compared", found.version) and _narrow(answer)


def doubted(found: Resolved, answer: SizingResult) -> SizingResult:
    """The answer with what is not known about the model said, and without figures that would be guesses. A refusal that rests on what is
    known stands."""
    doubts = list(not_compared(found.facts)) if found.facts is not None else []
    doubts += [(True, text) for text in unproven(found)]
    if _compressed_before(found, answer):
        doubts.append((True, "the compressed cache is compared with vLLM from 0.26 on: earlier versions may take up to twice as much"))
    beside = list(_elsewhere(found, answer))
    remembered = _remembered(found, answer)
    if not doubts and not beside:
        return answer
    notes = tuple(text for _, text in (*doubts, *beside))
    changes: dict[str, Any] = {"unknown": (*answer.unknown, *notes), "doubtful": (*answer.doubtful, *doubtful(found), *remembered)}
    if doubts:
        changes["param_bytes"] = None
    early = answer.verdict is Verdict.DOES_NOT_FIT and answer.kv_available_gib is None
    if any(grave for grave, _ in beside) or (any(cache for cache, _ in doubts) and not early):
        changes |= {"refusals": (), "verdict": Verdict.UNSURE, "reasons": (*notes, *answer.reasons)}
    return replace(answer, **changes)
