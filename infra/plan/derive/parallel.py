"""TP, PP and expert parallelism: the smallest size that surely fits one node, and a larger one where it is wished and cards are free."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from interlock.infra.config.wishes import Goal
from interlock.infra.engine.args import EngineArgs
from interlock.infra.plan.derive.case import Case, Choice, Size, tried
from interlock.infra.plan.derive.context import LEAST_LENGTH, USUAL_LENGTH, wished_length
from interlock.infra.plan.derive.load import wished_concurrency
from interlock.infra.plan.derive.ranks import ranks
from interlock.infra.plan.reasons import SET
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.refusals.parallel import tp_problem
from interlock.infra.sizing.result import SizingResult, Verdict
from interlock.infra.values import Version, plural

_FASTER = 2
"""Latency: so many times the cards that suffice, on NVLink."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The least size of a replica, and a better one where the pool has room for it."""

    least: Size
    better: Size | None = None


def tp_candidates(facts: ModelFacts, most: int, version: Version | None = None, *, expert_parallel: bool = False) -> tuple[int, ...]:
    """The tensor-parallel sizes up to ``most`` that vLLM accepts for the model."""
    return tuple(tp for tp in range(1, most + 1) if tp_problem(facts, tp, version, expert_parallel=expert_parallel) is None)


def sizes(case: Case) -> Sizes:
    """The sizes that a replica may have; one only where the config states it or nothing is known to search by."""
    engine, server = case.engine, case.server
    if engine.tensor_parallel_size is not None:
        return Sizes(_size(case, engine.tp, engine.pp, SET))
    if "tensor_parallel_size" in case.given:
        return Sizes(_size(case, 1, engine.pp, "set among the extra arguments"))
    if server.gpus is not None:
        rest = engine.pp * engine.apart
        if (
            server.gpus > case.units
            and not case.shared
            and "pipeline_parallel_size" not in case.given
            and server.gpus % (case.units * engine.apart) == 0
        ):
            told = f"the {case.units} GPUs of one node share each layer, the nodes share the layers"
            return Sizes(_size(case, case.units, server.gpus // case.units // engine.apart, told))
        tp = server.gpus // rest if server.gpus % rest == 0 else 1
        return Sizes(_size(case, tp, engine.pp, f"{plural(server.gpus, 'GPU')} / (PP {engine.pp} x {_groups(engine)})"))
    if case.simulated or case.shared:
        return Sizes(_size(case, 1, engine.pp, "one unit of a shared card" if case.shared else "the test-only CPU track has one rank"))
    facts = case.facts
    if facts is None or not facts.complete or case.resolved.memory is None:
        return Sizes(
            _size(case, 1, engine.pp, f"{plural(engine.gpus, 'GPU')} / (PP {engine.pp} x {_groups(engine)}); its memory is not known")
        )
    return _searched(case, facts)


def _groups(engine: EngineArgs) -> str:
    return f"DP {engine.dp}" + (f" x PCP {engine.pcp}" if engine.pcp > 1 else "")


def _size(case: Case, tp: int, pp: int, reason: str, instead: str = "", **more: Any) -> Size:
    extra = [Choice(name, value, text) for name, (value, text) in more.items()]
    if pp != case.engine.pp:
        few = "the tensor-parallel sizes that the model accepts do not fill these cards"
        extra.append(Choice("pipeline_parallel_size", pp, "one stage of layers on each node" if tp * pp > case.units else few))
    return Size(tp, pp, case.engine.apart, (Choice("tensor_parallel_size", tp, reason, instead), *extra))


def _ways(case: Case, facts: ModelFacts) -> list[tuple[int, int, bool]]:
    """(TP, PP, expert parallelism) by number of cards, the shortest pipeline first."""
    # More data-parallel ranks than a node has cards lie on several nodes, one card each.
    most, version = max(case.units // case.engine.apart, 1), case.resolved.version
    whole = set(tp_candidates(facts, most, version, expert_parallel=case.base.expert_parallel))
    spread = set(tp_candidates(facts, most, version, expert_parallel=True)) - whole if facts.experts else set()
    if "enable_expert_parallel" in case.given:
        spread = set()
    stages = (case.engine.pp,) if "pipeline_parallel_size" in case.given else range(1, max(most, 1) + 1)
    found = {(tp, pp, tp in spread) for tp in whole | spread for pp in stages if tp * pp <= most and (pp == 1 or pp <= facts.layers)}
    by_cards: dict[int, tuple[int, int, bool]] = {}
    for tp, pp, apart in sorted(found, key=lambda way: (way[0] * way[1], way[1], way[2])):
        by_cards.setdefault(tp * pp, (tp, pp, apart))
    return list(by_cards.values())


def _even(case: Case, way: tuple[int, int, bool]) -> bool:
    """Powers of two, and what divides the cards of a node: the rest of the node is then of use to others."""
    cards = way[0] * way[1]
    return cards & (cards - 1) == 0 or case.units % (cards * case.engine.apart) == 0


def _searched(case: Case, facts: ModelFacts) -> Sizes:
    ways = _ways(case, facts)
    if not ways:
        return Sizes(_size(case, 1, case.engine.pp, "no accepted size fits one node"))
    for relaxed in _relaxations(case, facts):
        found = _smallest(case, ways, relaxed)
        if found is not None:
            return found
    over = _over_nodes(case, facts)
    spread = _smallest(case, over, next(iter(_relaxations(case, facts)))) if over else None
    if spread is not None:
        return spread
    asked = next(iter(_relaxations(case, facts))).request
    first, last = (_why_not(tried(case, tp=tp, pp=pp, **asked, **_apart_of(apart))) for tp, pp, apart in (ways[0], ways[-1]))
    # What more cards do not change is not a matter of cards: a length beyond the model's positions, an argument that no kernel takes.
    (tp, pp, apart), told = (
        (ways[0], f"no size helps: {first}") if first == last else (ways[-1], f"the largest size on one node, and {last}")
    )
    return Sizes(_size(case, tp, pp, told, **_experts(apart)))


def _over_nodes(case: Case, facts: ModelFacts) -> list[tuple[int, int, bool]]:
    """(TP, PP, False) of replicas on several nodes of the pool: TP within a node whose cards are joined, PP from node to node."""
    fixed = {"pipeline_parallel_size", "enable_expert_parallel"} & case.given or case.server.nodes == 1 or case.engine.dp > 1
    tp = max(tp_candidates(facts, case.units, case.resolved.version), default=0)
    if fixed or tp != case.units or not _linked(case):
        return []
    return [(tp, nodes, False) for nodes in range(2, case.pool.nodes + 1) if nodes <= facts.layers]


@dataclass(frozen=True, slots=True)
class _Relaxed:
    """A change of the request that makes it fit, and how it is set."""

    request: dict[str, Any]
    choices: tuple[Choice, ...] = ()


def _relaxations(case: Case, facts: ModelFacts) -> Iterator[_Relaxed]:
    """What may be given up where nothing fits, in order of loss."""
    length = wished_length(case, facts)
    base: dict[str, Any] = {"max_model_len": length.tokens} if length.tokens else {}
    if length.open:
        base = {"max_model_len": min(facts.length(case.resolved.version) or USUAL_LENGTH, USUAL_LENGTH)}
    yield _Relaxed(base)
    if length.open:
        yield _Relaxed({"max_model_len": min(base["max_model_len"], LEAST_LENGTH)})
    for share in (0.9, 0.85, 0.8) if "gpu_memory_utilization" not in case.given and not case.base.kv_cache_memory_bytes else ():
        if share < case.resolved.utilization:
            told = f"{case.resolved.utilization:g} leaves too little outside the engine's budget for contexts and graphs"
            yield _Relaxed({**base, "gpu_memory_utilization": share}, (Choice("gpu_memory_utilization", share, told),))
    yield from _fewer_bits(case, facts, base)
    if "enforce_eager" not in case.given and case.base.enforce_eager is None:
        told = "last resort: without the memory of CUDA graphs it fits"
        yield _Relaxed({**base, "enforce_eager": True}, (Choice("enforce_eager", True, told, "graphs make small batches faster"),))


def _fewer_bits(case: Case, facts: ModelFacts, base: dict[str, Any]) -> Iterator[_Relaxed]:
    """8 bits, where the person allows it and the card computes with them."""
    card = case.resolved.gpu
    if not case.server.wishes.quantized or card is None or card.compute_capability < 8.9:
        return
    cache = Choice("kv_cache_dtype", "fp8", "wishes.quantized allows it, and with 16 bits it does not fit", "a shorter context")
    weights = Choice(
        "quantization", "fp8", "wishes.quantized allows it, and with 16 bits it does not fit", "a quantized checkpoint loads faster"
    )
    may_cache = "kv_cache_dtype" not in case.given and "mla" not in facts.mixers
    may_weights = "quantization" not in case.given and facts.quantization is None
    if may_cache:
        yield _Relaxed({**base, "kv_cache_dtype": "fp8"}, (cache,))
    if may_weights:
        yield _Relaxed({**base, "quantization": "fp8"}, (weights,))
    if may_cache and may_weights:
        yield _Relaxed({**base, "quantization": "fp8", "kv_cache_dtype": "fp8"}, (weights, cache))


def _smallest(case: Case, ways: list[tuple[int, int, bool]], relaxed: _Relaxed) -> Sizes | None:
    """The smallest way that fits; one that may fit counts as the least where a larger one surely does."""
    doubtful: tuple[int, int, bool] | None = None
    before = ""
    for place, (tp, pp, apart) in enumerate(ways):
        answer = tried(case, tp=tp, pp=pp, **_apart_of(apart), **relaxed.request)
        if answer.verdict is Verdict.FITS:
            sure = _made(case, (tp, pp, apart), answer, relaxed, before)
            if doubtful is not None:
                return Sizes(_made(case, doubtful, None, relaxed, ""), sure)
            better = _better(case, [way for way in ways[place:] if _even(case, way)], relaxed, sure)
            return Sizes(_apart(case, sure, relaxed), better and _apart(case, better, relaxed))
        if answer.verdict is Verdict.UNSURE and doubtful is None:
            doubtful = (tp, pp, apart)
        before = f"TP {tp}" + (f" x PP {pp}" if pp > 1 else "") + f": {_why_not(answer)}"
    return Sizes(_made(case, doubtful, None, relaxed, "")) if doubtful else None


def _apart(case: Case, size: Size, relaxed: _Relaxed) -> Size:
    return ranks(case, size, relaxed.request) if _linked(case) else size


def _made(case: Case, way: tuple[int, int, bool], answer: SizingResult | None, relaxed: _Relaxed, before: str) -> Size:
    tp, pp, apart = way
    reason = f"the smallest size that fits: {answer.reasons[0]}" if answer else "may fit; no larger size is sure on one node"
    size = _size(case, tp, pp, reason, before, **_experts(apart))
    return Size(tp, pp, case.engine.apart, (*size.choices, *relaxed.choices))


def _apart_of(apart: bool) -> dict[str, bool]:
    return {"expert_parallel": True} if apart else {}


def _experts(apart: bool) -> dict[str, Any]:
    text = "whole experts on each rank: their widths cannot be cut at this size"
    return {"enable_expert_parallel": (True, text)} if apart else {}


def _better(case: Case, ways: list[tuple[int, int, bool]], relaxed: _Relaxed, least: Size) -> Size | None:
    """A larger size that the wishes ask for: it holds the wished requests at the same time, or answers sooner on NVLink."""
    wanted = wished_concurrency(case)
    if wanted is not None:
        for tp, pp, apart in ways:
            length = relaxed.request.get("max_model_len") or case.resolved.max_model_len
            share = {"wanted_concurrency": max(wanted.tokens / max(length, 1), 1e-6)}
            answer = tried(case, tp=tp, pp=pp, **_apart_of(apart), **relaxed.request, **share)
            if answer.verdict is Verdict.FITS:
                if tp * pp == least.gpus // case.engine.apart:
                    break
                told = f"the smallest size whose KV cache holds {wanted.told}"
                return _size(case, tp, pp, told, f"TP {least.tp} fits, with room for fewer requests at the same time", **_experts(apart))
    evened = next((way for way in ways if way[0] * way[1] * case.engine.apart != least.gpus), None)
    if evened and not (ways and ways[0][0] * ways[0][1] * case.engine.apart == least.gpus) and _fits(case, evened, relaxed):
        told = f"{least.gpus} cards suffice; this size leaves no odd rest on a node of {case.units}"
        return _size(case, evened[0], evened[1], told, f"TP {least.tp} x PP {least.pp}", **_experts(evened[2]))
    if case.server.wishes.goal is Goal.LATENCY and _linked(case):
        faster = [way for way in ways if way[0] == least.tp * _FASTER and way[1] == least.pp]
        if faster:
            tp, pp, apart = faster[0]
            told = f"goal latency: {_FASTER} x the TP {least.tp} that suffices; each card reads half the weights per token"
            return _size(case, tp, pp, told, f"TP {least.tp} leaves the cards to others", **_experts(apart))
    return None


def _fits(case: Case, way: tuple[int, int, bool], relaxed: _Relaxed) -> bool:
    tp, pp, apart = way
    return tried(case, tp=tp, pp=pp, **_apart_of(apart), **relaxed.request).verdict is Verdict.FITS


def _linked(case: Case) -> bool:
    card = case.resolved.gpu
    return case.pool.nvlink if case.pool.nvlink is not None else bool(card and card.nvlink)


def _why_not(answer: SizingResult) -> str:
    return answer.reasons[0] if answer.reasons else answer.verdict.replace("_", " ")
