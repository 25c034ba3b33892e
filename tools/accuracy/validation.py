"""What cross-validation shows, as Markdown: the goals, the figures by engine, the logs that are missed, the rivals on the same halves."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tools.accuracy.cases import Scored
from tools.accuracy.halves import Judged, pooled
from tools.accuracy.rivals import methods, pool_errors, tally
from tools.accuracy.score import Errors, Reader, confusion, errors, kv_tokens_error, quantity, weights_error
from tools.accuracy.tables import percent, table

WHY = Path(__file__).parent / "missed.json"
QUANTITIES: tuple[tuple[str, Reader], ...] = (
    ("weights", weights_error),
    ("KV memory", quantity("kv_available_gib")),
    ("KV tokens", kv_tokens_error),
)
# A figure further off than this is one of the logs that the 90th percentile is judged by.
_FAR = 0.15


def basics(case: Scored) -> bool:
    """States model, GPU and utilization."""
    return case.states_the_basics


def _of_ours(case: Scored) -> bool:
    return basics(case) and not case.foreign and not case.doubted and not case.contradicts_itself


GROUPS: tuple[tuple[str, Callable[[Scored], bool]], ...] = (
    ("all", _of_ours),
    ("V0 engine", lambda case: _of_ours(case) and case.band == "V0"),
    ("GB10", lambda case: _of_ours(case) and case.unified),
    ("the others", lambda case: _of_ours(case) and case.band != "V0" and not case.unified),
    ("beside: doubted by the record", lambda case: basics(case) and not case.foreign and not _of_ours(case)),
)


def validation(splits: Sequence[Judged]) -> tuple[str, ...]:
    """The whole section."""
    return (
        "## On logs that were not used",
        _METHOD,
        goals(splits),
        "By engine (`n`: logs; each is judged about ten times; in brackets the least and the largest of the twenty splits):",
        figures(splits),
        _OF_V0,
        "Every log whose KV memory or tokens lie outside the interval in some split, or are off by more than 15 %, and what is missing:",
        missed(splits),
        "Verdicts, as shares of the judgements:",
        verdicts(splits),
        "Every log that is `unsure` in some split:",
        unsure(splits),
        "### What would be used otherwise, on the same halves",
        _RIVALS,
        rivals(splits),
    )


_METHOD = (
    "Twenty times the logs are cut into halves, with all logs of one issue, pull request or page in the same half (those whose page has no "
    "address: all of one card, version and model). The fitted figures "
    "(`infra/catalog/overheads.json`) are fitted anew on one half and on the H200 runs, and the other half is judged with them. The "
    "laws (which tensors live when, the planning of the cache, defaults by version) are read from vLLM's code and are the same in every "
    "split. Some constants besides are the same in every split and were chosen with all logs in view, which flatters the figures: those "
    "of the law of graphs, what is believed of each figure before any log (where code bounds it, that bound), what ranks and the "
    "warm-up take after the budget is fixed "
    "(with the one failed start that shows it, cal-185), and the guesses for drafts without a config, for DeepSeek-V4 and for the V0 "
    "engine's pass. The widths of the forward pass and of the encoders come from traced model code and "
    "the H200. A log counts when its record states model, GPU and utilization, whatever the planner answers to it. Records that say "
    "themselves that card, count or utilization were inferred, or whose own figures exceed the card, stand in a row beside the total; "
    "the goals are told with them too. "
    "Models and cards that the planner does not know, other makers' cards and forks count as `unsure`."
)
_OF_V0 = (
    "The rows of the V0 engine are wide because its peak follows from sequences and batched tokens, which its logs seldom state. Where "
    "they are the defaults the peak is that of the sort. What each of its logs lacks is said below."
)
_RIVALS = (
    "Logs that state model, GPU, utilization and an outcome. `unsure` counts as no answer. hf-mem reads the checkpoint headers from the "
    "hub, so its sum is computed here with our weights; llm-d-planner's constants are read from its package."
)


def goals(splits: Sequence[Judged]) -> str:
    """Each goal with what was measured, without and with the records that doubt themselves."""
    columns = [_measured(pooled(splits, keep)) for keep in (_of_ours, lambda case: basics(case) and not case.foreign)]
    foreign = _clear(pooled(splits, lambda case: _of_ours(case) or (basics(case) and case.foreign)))
    rows = [
        [name, goal, f"{percent(own[name])} {_met(own[name], rule)}", f"{percent(wider[name])} {_met(wider[name], rule)}"]
        for own, wider in (columns,)
        for name, goal, rule in _GOALS
    ]
    share = _share(foreign, "unsure")
    rows.append(["`unsure`, with other makers' cards and forks", "at most 12 %", f"{percent(share)} {_met(share, '<= 0.12')}", ""])
    return table(("", "goal", "measured", "with the records that doubt themselves"), rows)


_GOALS = (
    ("KV tokens, p50", "at most 5 %", "<= 0.05"),
    ("KV tokens, p90", "at most 15 %", "<= 0.15"),
    ("the interval of KV tokens holds the truth", "at least 90 %", ">= 0.90"),
    ("median width of that interval", "at most 15 %", "<= 0.15"),
    ("the interval of KV memory holds the truth", "at least 90 %", ">= 0.90"),
    ("median width of the interval of KV memory", "at most 15 %", "<= 0.15"),
    ("`unsure`", "at most 12 %", "<= 0.12"),
    ("`fits` on a start that failed", "none", "<= 0"),
    ("`does not fit` on a start that worked", "at most 2 %", "<= 0.02"),
)


def _measured(cases: Sequence[Scored]) -> dict[str, float]:
    """By goal, in the order of the goals."""
    tokens, memory, asked = errors(cases, kv_tokens_error), errors(cases, quantity("kv_available_gib")), _clear(cases)
    found = confusion(asked)
    values = (
        *(tokens.quantile(0.5), tokens.quantile(0.9), tokens.coverage, tokens.width, memory.coverage, memory.width),
        _share(asked, "unsure"),
        found.at("failed", "fits") / max(found.total("failed"), 1),
        found.at("ran", "does_not_fit") / max(found.total("ran"), 1),
    )
    return {name: value for (name, _, _), value in zip(_GOALS, values, strict=True)}


def _met(value: float, rule: str) -> str:
    sign, _, bound = rule.partition(" ")
    return "met" if (value >= float(bound) if sign == ">=" else value <= float(bound)) else "**missed**"


def _share(cases: Sequence[Scored], verdict: str) -> float:
    return sum(case.answer["verdict"] == verdict for case in cases) / len(cases) if cases else math.nan


def _clear(cases: Sequence[Scored]) -> list[Scored]:
    return [case for case in cases if case.ran is not None]


def figures(splits: Sequence[Judged]) -> str:
    """Errors by engine, pooled over all splits."""
    rows = []
    for name, keep in GROUPS:
        for label, read in QUANTITIES:
            cases = [case for case in pooled(splits, keep) if read(case) is not None]
            if cases:
                each = [found for split in splits if (found := errors([case for case in split.cases if keep(case)], read)).n]
                rows.append([name, label, len({case.log["id"] for case in cases}), *_row(errors(cases, read), each)])
    return table(("group", "quantity", "n", "p50", "p90", "inside the interval", "median width"), rows)


def _row(found: Errors, splits: Sequence[Errors]) -> list[str]:
    def told(read: Callable[[Errors], float]) -> str:
        values = [read(each) for each in splits]
        return f"{percent(read(found))} ({percent(min(values), 0)} .. {percent(max(values), 0)})"

    return [told(lambda e: e.quantile(0.5)), told(lambda e: e.quantile(0.9)), told(lambda e: e.coverage), told(lambda e: e.width)]


def missed_logs(splits: Sequence[Judged]) -> Mapping[str, list[tuple[str, float, dict[str, float], Scored]]]:
    """By log: (quantity, truth, the estimate that is furthest off, case) of every figure that is missed in some split."""
    found: dict[str, dict[str, tuple[str, float, dict[str, float], Scored]]] = {}
    for case in pooled(splits, lambda each: basics(each) and not each.foreign):
        for label, read in QUANTITIES[1:]:
            pair = read(case)
            if pair is None:
                continue
            truth, estimate = pair
            off = abs(estimate["likely"] / truth - 1)
            inside = estimate["low"] <= truth <= estimate["high"]
            if not inside or off > _FAR:
                by_label = found.setdefault(str(case.log["id"]), {})
                before = by_label.get(label)
                if before is None or off > abs(before[2]["likely"] / truth - 1):
                    by_label[label] = (label, truth, estimate, case)
    return {name: list(rows.values()) for name, rows in sorted(found.items())}


def missed(splits: Sequence[Judged]) -> str:
    """Every missed log with what is missing."""
    why = json.loads(WHY.read_text("utf-8"))
    rows = []
    for name, each in missed_logs(splits).items():
        for label, truth, estimate, case in each:
            said = " / ".join(f"{estimate[end]:,.4g}" for end in ("low", "likely", "high"))
            version = case.log.get("vllm_version") or case.band
            rows.append([name, _model(case), version, label, f"{truth:,.4g}", said, why.get(name, "not known")])
    return table(("log", "model", "version", "quantity", "logged", "low / likely / high", "missing"), rows)


def verdicts(splits: Sequence[Judged]) -> str:
    """Outcomes against verdicts for each group."""
    rows = []
    for name, keep in (*GROUPS, ("beside: other makers' cards and forks", lambda case: basics(case) and case.foreign)):
        cases = _clear(pooled(splits, keep))
        found = confusion(cases)
        for outcome in ("ran", "failed"):
            total = found.total(outcome)
            if total:
                logs = len({case.log["id"] for case in cases if case.ran == (outcome == "ran")})
                shares = [percent(found.at(outcome, verdict) / total) for verdict in ("fits", "unsure", "does_not_fit")]
                rows.append([name, outcome, logs, *shares])
    return table(("group", "outcome", "logs", "fits", "unsure", "does not fit"), rows)


def unsure_logs(splits: Sequence[Judged]) -> Mapping[str, tuple[Scored, int, int]]:
    """By log: (case, times without an answer, times judged) of every log that has no answer in some split."""
    found: dict[str, Scored] = {}
    counts: dict[str, int] = {}
    times: dict[str, int] = {}
    for case in _clear(pooled(splits, basics)):
        name = str(case.log["id"])
        times[name] = times.get(name, 0) + 1
        if case.answer["verdict"] == "unsure":
            found.setdefault(name, case)
            counts[name] = counts.get(name, 0) + 1
    return {name: (case, counts[name], times[name]) for name, case in sorted(found.items())}


def unsure(splits: Sequence[Judged]) -> str:
    """Every log without an answer in some split, with the planner's reason and the fact that is missing."""
    why, rows = json.loads(WHY.read_text("utf-8")), []
    for name, (case, count, times) in unsure_logs(splits).items():
        missing = why.get(name, "an NVIDIA card, or vLLM itself" if case.foreign else "not known")
        outcome = "ran" if case.ran else "failed"
        rows.append([name, _model(case), outcome, f"{count} of {times}", _plain(case.answer["reasons"][0]), missing])
    return table(("log", "model", "outcome", "unsure", "why", "missing"), rows)


def _model(case: Scored) -> str:
    return str(case.log["model"])[:40]


def _plain(text: object) -> str:
    return str(text).replace("|", "/")[:170]


def rivals(splits: Sequence[Judged]) -> str:
    """Every method on the same judged halves."""
    cases = pooled(splits, basics)
    rows = []
    for name, method in methods().items():
        counts, off = tally(cases, method.decide), Errors(tuple(pool_errors([c for c in cases if not c.foreign], method.pool)), 0, ())
        asked = sum(case.ran is not None for case in cases)
        shares = [percent(counts[each] / asked) for each in ("right", "said fits, failed", "said no, ran", "no answer")]
        rows.append([name, *shares, percent(off.quantile(0.5)), percent(off.quantile(0.9))])
    return table(("method", "right", "said fits, failed", "said no, ran", "no answer", "KV memory p50", "p90"), rows)
