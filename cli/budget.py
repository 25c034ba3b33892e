"""A GPU's budget for people: a bar of what fills the card, and a table of every number with its formula, and the sources below it."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from interlock.infra.sizing import Estimate, SizingResult, Verdict

_COLOURS = {
    "weights": "blue",
    "activation": "yellow",
    "cuda_graphs": "magenta",
    "non_torch": "cyan",
    "kv_cache": "green",
    "outside": "bright_black",
}
_NAMES = {
    "weights": "weights",
    "activation": "activation peak",
    "cuda_graphs": "CUDA graphs",
    "non_torch": "non-torch",
    "kv_cache": "KV cache",
    "outside": "left free by utilization",
}
_ORDER = ("weights", "activation", "cuda_graphs", "non_torch", "kv_cache", "outside")
_VERDICTS = {Verdict.FITS: ("fits", "green"), Verdict.DOES_NOT_FIT: ("does not fit", "red"), Verdict.UNSURE: ("cannot be sure", "yellow")}
BAR_WIDTH = 72


def render_budget(result: SizingResult, title: str = "") -> RenderableType:
    """The budget of one GPU as a bar, a table and the verdict with what decides it."""
    parts: list[RenderableType] = [verdict_line(result, title)]
    if result.terms and result.total_gib:
        parts += [bar(result), term_table(result), sources(result)]
    parts.append(answers(result))
    if result.suggestions:
        parts.append(Text("would fit: " + "; ".join(suggestion.text for suggestion in result.suggestions), style="green"))
    if result.unknown:
        parts.append(Text("\n".join(result.unknown), style="bright_black"))
    return Group(*parts)


def verdict_line(result: SizingResult, title: str) -> Text:
    """The verdict and its reasons."""
    word, colour = _VERDICTS[result.verdict]
    line = Text(f"{title}: " if title else "", style="bold")
    line.append(word, style=f"bold {colour}")
    line.append(f" (vLLM {result.vllm_version})" if result.vllm_version else "")
    for reason in result.reasons:
        line.append(f"\n  {reason}")
    return line


def bar(result: SizingResult) -> Text:
    """What fills the card, to scale. An overdrawn budget fills the whole bar with what is asked."""
    shares = {term.name: max(term.gib.likely, 0.0) for term in result.terms}
    whole = max(sum(shares.values()), 1e-9)
    line, used = Text(), 0.0
    for name in _ORDER:
        start, used = round(used / whole * BAR_WIDTH), used + shares.get(name, 0.0)
        line.append("█" * (round(used / whole * BAR_WIDTH) - start), style=_COLOURS[name])
    return line


def term_table(result: SizingResult) -> Table:
    """Every term with its interval, its formula and the number of its source."""
    table = Table(title=None, show_edge=False, pad_edge=False)
    for head in ("GiB of one GPU", "likely", "low .. high", "how", ""):
        table.add_column(head, justify="right" if head in ("likely", "low .. high") else "left", overflow="fold")
    numbers = {source: f"[{number}]" for number, source in enumerate(_sources(result), 1)}
    for name in _ORDER:
        term = result.term(name)
        if term is not None:
            label = Text("█ ", style=_COLOURS[name]).append(_NAMES[name], style="default")
            source = Text(numbers[term.source], style="bright_black")
            table.add_row(label, f"{term.gib.likely:.2f}", _range(term.gib), term.formula, source)
    if result.total_gib:
        table.add_row(Text("  total"), f"{result.total_gib.likely:.2f}", _range(result.total_gib), "as CUDA reports it", "")
    return table


def sources(result: SizingResult) -> Text:
    """Where the formulas come from, by number."""
    return Text("\n".join(f"[{number}] {source}" for number, source in enumerate(_sources(result), 1)), style="bright_black")


def _sources(result: SizingResult) -> tuple[str, ...]:
    shown = (result.term(name) for name in _ORDER)
    return tuple(dict.fromkeys(term.source for term in shown if term is not None))


def answers(result: SizingResult) -> Text:
    """Tokens, concurrency and lengths in one paragraph."""
    if result.kv_needed_gib == 0:  # an encoder
        return Text(f"longest length that surely fits: {result.longest_model_len}" if result.longest_model_len else "")
    lines: list[str] = []
    if result.kv_tokens:
        lines.append(f"KV tokens {_whole(result.kv_tokens)} in blocks of {result.block_size}")
    if result.max_concurrency and result.max_model_len:
        lines.append(f"requests of {result.max_model_len} tokens at the same time {_range(result.max_concurrency)}")
    if result.kv_needed_gib is not None:
        lines.append(f"one such request takes {result.kv_needed_gib:.2f} GiB")
    if result.longest_model_len:
        lines.append(f"longest length that surely fits: {result.longest_model_len:,} tokens")
    return Text("\n".join(lines))


def _range(estimate: Estimate) -> str:
    return f"{estimate.low:.2f} .. {estimate.high:.2f}"


def _whole(estimate: Estimate) -> str:
    return f"{estimate.likely:,.0f} ({estimate.low:,.0f} .. {estimate.high:,.0f})"
