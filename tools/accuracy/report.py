"""The report as Markdown."""

import json
import math
from collections.abc import Callable, Iterable, Sequence

from tools.accuracy.cases import BANDS, Scored
from tools.accuracy.rivals import KEPT, methods, pool_error, tally
from tools.accuracy.score import Errors, Reader, confusion, errors, kv_bytes_error, kv_tokens_error, quantity, upper_bound

FEW = 20
QUANTITIES: tuple[tuple[str, Reader], ...] = (
    ("weights", quantity("weights_gib")),
    ("KV bytes per token", kv_bytes_error),
    ("KV memory", quantity("kv_available_gib")),
    ("KV tokens", kv_tokens_error),
    ("activation", quantity("activation_peak_gib")),
)


def percent(value: float, digits: int = 1) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.{digits}f} %"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])


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


def outside_table(cases: Sequence[Scored]) -> str:
    """Every log whose pool lies outside the planner's interval."""
    rows = []
    for case in cases:
        for label, read in QUANTITIES[2:4]:
            pair = read(case)
            if pair is not None and not pair[1]["low"] <= pair[0] <= pair[1]["high"]:
                said = " / ".join(f"{pair[1][end]:,.4g}" for end in ("low", "likely", "high"))
                model, version = str(case.log["model"])[:48], case.log.get("vllm_version") or case.band
                rows.append([case.log["id"], model, version, label, f"{pair[0]:,.4g}", said])
    return table(("log", "model", "version", "quantity", "logged", "low / likely / high"), rows)


def verdict_table(cases: Sequence[Scored]) -> str:
    found = confusion(cases)
    rows = [
        [outcome, *(found.at(outcome, v) for v in ("fits", "unsure", "does_not_fit")), found.total(outcome)]
        for outcome in ("ran", "failed")
    ]
    return table(("outcome", "fits", "unsure", "does not fit", "n"), rows)


def unsure_table(cases: Sequence[Scored]) -> str:
    """Every case without an answer, with the planner's reason."""
    unsure = [case for case in cases if case.ran is not None and case.answer["verdict"] == "unsure"]
    rows = [[c.log["id"], str(c.log["model"])[:48], "ran" if c.ran else "failed", str(c.answer["reasons"][0])[:160]] for c in unsure]
    return table(("log", "model", "outcome", "why"), rows)


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


def rival_table(cases: Sequence[Scored]) -> str:
    rows = []
    for name, method in methods().items():
        counts = tally(cases, method)
        rows.append([name, counts["answered"], counts["right"], counts["said fits, failed"], counts["said no, ran"], counts["no answer"]])
    return table(("method", "answers", "right", "said fits, failed", "said no, ran", "no answer"), rows)


def rival_pool(cases: Sequence[Scored]) -> str:
    kept = json.loads(KEPT.read_text("utf-8"))
    own, theirs = [], []
    for case in cases:
        other, pair = pool_error(case, kept["overheads"]), quantity("kv_available_gib")(case)
        if other is not None and pair is not None:
            theirs.append(other)
            own.append(pair[1]["likely"] / pair[0] - 1)
    rows = [
        [name, len(e), percent(Errors(tuple(e), 0, ()).quantile(0.5), 2), percent(Errors(tuple(e), 0, ()).quantile(0.9))]
        for name, e in (("Interlock", own), (f"llm-d-planner {kept['version']} (its overheads, our weights)", theirs))
    ]
    return table(("KV memory", "n", "p50", "p90"), rows)


def report(cases: Sequence[Scored]) -> str:
    logs = [case for case in cases if case.group == "logs"]
    named = [case for case in logs if case.named and not case.foreign and not case.inconsistent and not case.unified]
    full = [case for case in named if case.fully_stated]
    runs = [case for case in cases if case.group == "h200" and not case.disturbed]
    left_out = {
        "model guessed from bytes per token": sum(not c.named for c in logs),
        "not NVIDIA, or a fork": sum(c.foreign for c in logs),
        "figures that do not add up": sum(c.inconsistent for c in logs),
        "memory shared with the CPU (GB10)": sum(c.unified for c in logs),
        "engines started at the same time on one card (H200)": sum(c.disturbed for c in cases),
    }
    about = (
        f"{len(logs)} public logs and {len(runs)} runs measured on one H200. Left out of the figures below (a log can fall under several): "
    )
    parts = (
        "# How wrong the memory planner is",
        _METHOD,
        about + "; ".join(f"{name}: {count}" for name, count in left_out.items()) + ".",
        "![Predicted against logged KV memory](accuracy.svg)",
        *_errors(full, named, runs),
        *_verdicts([case for case in named if case.states_the_basics], runs),
    )
    return "\n\n".join(parts) + "\n"


_METHOD = (
    "Written by `make accuracy` (`python -m tools.accuracy`); do not edit. Every figure stands beside the number of logs it rests on "
    "and a 95 % confidence bound. Errors are relative to what vLLM logged. The planner is told what the log says was asked "
    "(model, GPU, arguments, version), never what came out; what is not stated takes the version's default."
)
_RIVALS = (
    "Public logs and H200 runs that state model, GPU memory and an outcome. `unsure` counts as no answer. hf-mem reads the checkpoint "
    "headers from the hub, so its sum is computed here with our weights; llm-d-planner's constants are read from its package."
)


def _errors(full: Sequence[Scored], named: Sequence[Scored], runs: Sequence[Scored]) -> tuple[str, ...]:
    return (
        "## Cases that state everything",
        "Model, GPU, tensor parallel size, utilization, length and version are stated.",
        table(HEAD, error_rows(full, "public logs") + error_rows(runs, "H200")),
        "## All named logs",
        table(HEAD, error_rows(named, "all") + error_rows([case for case in named if case.band != "V0"], "without the V0 engine")),
        "Outside the interval of KV memory or tokens, all of them:",
        outside_table(named),
        "### By version band",
        grouped(named, lambda case: case.band, [*(name for name, _ in BANDS), "not stated"]),
        "### By model family",
        grouped(named, lambda case: case.family, sorted({case.family for case in named})),
    )


def _verdicts(basics: Sequence[Scored], runs: Sequence[Scored]) -> tuple[str, ...]:
    return (
        "## Verdicts",
        "Cases that state model, GPU and utilization, with a clear outcome:",
        verdict_table(basics),
        verdict_lines(basics, "these cases"),
        "Those whose answer is `unsure`:",
        unsure_table(basics),
        "The H200 runs:",
        verdict_table(runs),
        "## What would be used otherwise",
        _RIVALS,
        rival_table([*basics, *runs]),
        rival_pool([*basics, *runs]),
    )
