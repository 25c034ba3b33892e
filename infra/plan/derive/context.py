"""``max_model_len``: the longest prompt and answer with a margin, or as much of the model's own length as fits."""

from collections.abc import Iterator
from dataclasses import dataclass

from interlock.infra.plan.derive.case import Case, Choice, tried
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.result import Verdict

USUAL_LENGTH = 16_384
"""Tokens that a size is chosen for where no length is wished: whatever fits beyond it is used."""
LEAST_LENGTH = 4_096
"""Tokens below which a context is not shortened unasked."""
_PROMPT, _ANSWER = 8_192, 2_048
_MARGIN = 1.2
_STEP = 1_024


@dataclass(frozen=True, slots=True)
class Length:
    """The length that a server is planned for."""

    tokens: int | None = None
    """None where the config states it, or nothing is known."""
    told: str = ""
    open: bool = False
    """Nobody said how long: the model's own length, as far as it fits."""


def wished_length(case: Case, facts: ModelFacts | None) -> Length:
    """The length by the config, the wishes, or the model."""
    wishes = case.server.wishes
    if "max_model_len" in case.given and not case.resolved.fit_length:
        return Length()
    own = facts.limit(case.resolved.version) if facts else 0
    if wishes.longest_prompt is None and wishes.longest_answer is None:
        return Length(open=bool(own))
    prompt, answer = wishes.longest_prompt or _PROMPT, wishes.longest_answer or _ANSWER
    need = prompt + answer
    if own and need > own and None in (wishes.longest_prompt, wishes.longest_answer):
        need = max(own, wishes.longest_prompt or wishes.longest_answer or 0)
    roomy = -(-int(need * _MARGIN) // 16) * 16
    tokens = max(min(roomy, own), need) if own else roomy
    taken = [
        f"{name} {value} is assumed"
        for name, value, stated in (("prompt", prompt, wishes.longest_prompt), ("answer", answer, wishes.longest_answer))
        if stated is None
    ]
    capped = f", capped by the model's own {own}" if own and roomy > own else ""
    return Length(tokens, f"prompt {prompt} + answer {answer} + 20 %{capped}" + (f" ({'; '.join(taken)})" if taken else ""))


def context(case: Case) -> Iterator[Choice]:
    """The length, decided after the size."""
    if case.simulated or case.resolved.fit_length:
        return
    found = wished_length(case, case.facts)
    if found.tokens is not None:
        yield Choice("max_model_len", found.tokens, found.told)
    elif found.open and case.facts is not None and not case.pools:
        yield from _as_long_as_fits(case, case.resolved.max_model_len)


def _as_long_as_fits(case: Case, own: int) -> Iterator[Choice]:
    answer = tried(case)
    if answer.verdict is Verdict.FITS:
        yield Choice("max_model_len", None, f"the model's own {own} tokens fit")
        return
    longest = (answer.longest_model_len or 0) // _STEP * _STEP
    if min(LEAST_LENGTH, own) <= longest < own and tried(case, max_model_len=longest).verdict is Verdict.FITS:
        told = f"the longest that surely fits; the model's own {own} tokens do not: {answer.reasons[0]}"
        yield Choice("max_model_len", longest, told, "more cards per replica, or kv_cache_dtype fp8")
