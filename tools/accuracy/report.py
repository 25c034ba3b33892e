"""The report as Markdown."""

import math
from collections.abc import Callable, Mapping, Sequence

from tools.accuracy.cases import BANDS, Scored
from tools.accuracy.halves import Judged
from tools.accuracy.score import Errors, Reader, confusion, errors, kv_bytes_error, kv_tokens_error, quantity, upper_bound, weights_error
from tools.accuracy.tables import percent, table
from tools.accuracy.validation import validation

FEW = 20
QUANTITIES: tuple[tuple[str, Reader], ...] = (
    ("weights", weights_error),
    ("KV bytes per token", kv_bytes_error),
    ("KV memory", quantity("kv_available_gib")),
    ("KV tokens", kv_tokens_error),
    ("activation", quantity("activation_peak_gib")),
)


def error_rows(cases: Sequence[Scored], name: str) -> list[list[object]]:
    rows: list[list[object]] = []
    for label, read in QUANTITIES:
        found = errors(cases, read)
        if found.n:
            rows.append([name, label, *_figures(found)])
    return rows


def _figures(found: Errors) -> list[object]:
    note = "" if found.n >= FEW else f" (below {FEW}: not judged)"
    return [
        f"{found.n}{note}",
        percent(found.quantile(0.5), 2),
        percent(found.quantile(0.9), 2),
        percent(found.bound, 1),
        percent(found.quantile(1.0)),
        f"{percent(found.coverage)} (at least {percent(found.coverage_bound, 0)})",
        percent(found.width),
    ]


HEAD = ("group", "quantity", "n", "p50", "p90", "p90 is below (95 %)", "worst", "inside the interval", "median width")


def grouped(cases: Sequence[Scored], key: Callable[[Scored], str], order: Sequence[str]) -> str:
    rows: list[list[object]] = []
    for name in order:
        rows += error_rows([case for case in cases if key(case) == name], name)
    return table(HEAD, rows)


def verdict_table(cases: Sequence[Scored]) -> str:
    found = confusion(cases)
    rows = [
        [outcome, *(found.at(outcome, v) for v in ("fits", "unsure", "does_not_fit")), found.total(outcome)]
        for outcome in ("ran", "failed")
    ]
    return table(("outcome", "fits", "unsure", "does not fit", "n"), rows)


def verdict_lines(cases: Sequence[Scored], named: str) -> str:
    found = confusion(cases)
    n = found.total("ran") + found.total("failed")
    unsure = found.at("ran", "unsure") + found.at("failed", "unsure")
    wrong_fit, wrong_no = found.at("failed", "fits"), found.at("ran", "does_not_fit")
    failed, ran = found.total("failed"), found.total("ran")
    lines = [
        f"`fits` on a case that failed: **{wrong_fit}** of {failed} (at most {_bound(wrong_fit, failed)} with 95 % confidence)",
        f"`does not fit` on a case that ran: **{wrong_no}** of {ran} (at most {_bound(wrong_no, ran)})",
        f"`unsure`: **{unsure}** of {n} ({percent(unsure / n if n else math.nan)}) among {named}",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _bound(hits: int, n: int) -> str:
    return percent(upper_bound(hits, n), 0)


def report(cases: Sequence[Scored], splits: Sequence[Judged]) -> str:
    """The whole page: on logs that were not used, then with the catalogue's figures."""
    logs = [case for case in cases if case.group == "logs"]
    named = [case for case in logs if case.named and not case.foreign]
    full = [case for case in named if case.fully_stated]
    runs = [case for case in cases if case.group == "h200" and not case.disturbed]
    parts = (
        "# How wrong the memory planner is",
        _METHOD,
        _counted(cases, logs, runs),
        *validation(splits),
        "## With the figures of the catalogue",
        "The same planner with figures that were fitted on all logs, as people use it. These numbers flatter: each log was seen.",
        "![Predicted against logged KV memory](accuracy.svg)",
        *_errors(full, named, runs),
        *_verdicts([case for case in named if case.states_the_basics], runs),
    )
    return "\n\n".join(parts) + "\n"


_METHOD = (
    "Written by `make accuracy` (`python -m tools.accuracy`); do not edit. Errors are relative to what vLLM logged. The planner is told "
    "what the log says was asked (model, GPU, arguments, version), never what came out; what is not stated takes the version's default. "
    "Which logs count is decided by the record alone, never by the planner's answer."
)


def _counted(cases: Sequence[Scored], logs: Sequence[Scored], runs: Sequence[Scored]) -> str:
    aside = {
        "model guessed from bytes per token": sum(not c.named for c in logs),
        "not NVIDIA, or a fork (judged as `unsure` only)": sum(c.foreign for c in logs),
        "something beside the question decided the outcome": sum(bool(c.log.get("exclude")) for c in logs),
        "engines started at the same time on one card (H200)": sum(c.disturbed for c in cases),
    }
    within = {
        "memory shared with the CPU (GB10)": sum(c.unified for c in logs),
        "the V0 engine": sum(c.band == "V0" for c in logs),
        "figures that contradict each other": sum(c.contradicts_itself for c in logs),
    }

    def told(counts: Mapping[str, int]) -> str:
        return "; ".join(f"{name}: {count}" for name, count in counts.items())

    return f"{len(logs)} public logs and {len(runs)} runs measured on one H200. Set aside: {told(aside)}. Kept: {told(within)}."


def _errors(full: Sequence[Scored], named: Sequence[Scored], runs: Sequence[Scored]) -> tuple[str, ...]:
    rows = error_rows([case for case in named if case.band != "V0"], "without the V0 engine")
    rows += error_rows([case for case in named if case.unified], "GB10")
    return (
        "### Cases that state everything",
        "Model, GPU, tensor parallel size, utilization, length and version are stated. Beside each figure stands the number of logs it "
        "rests on and a 95 % confidence bound.",
        table(HEAD, error_rows(full, "public logs") + error_rows(runs, "H200")),
        "### All named logs",
        table(HEAD, error_rows(named, "all") + rows),
        "### By version band",
        grouped(named, lambda case: case.band, [*(name for name, _ in BANDS), "not stated"]),
        "### By model family",
        grouped(named, lambda case: case.family, sorted({case.family for case in named})),
    )


def _verdicts(basics: Sequence[Scored], runs: Sequence[Scored]) -> tuple[str, ...]:
    return (
        "### Verdicts",
        "Cases that state model, GPU and utilization, with a clear outcome:",
        verdict_table(basics),
        verdict_lines(basics, "these cases"),
        "The H200 runs:",
        verdict_table(runs),
    )
