"""A GPU's memory as an SVG file: a stacked bar to scale, the interval in which the KV cache begins, and every term with its figures."""

from collections.abc import Iterator
from pathlib import Path

from interlock.cli.page.markup import Html, Inside, tag
from interlock.cli.page.scale import NAMES, TELLS, Scale, scale, span
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.sizing import SizingResult, Term

_COLOURS = {
    "weights": "#8ab4f8",
    "activation": "#f6c667",
    "cuda_graphs": "#e2a0e8",
    "non_torch": "#8fd6d6",
    "kv_cache": "#8fd19e",
    "outside": "#d9dde2",
}
_WIDTH, _EDGE, _TOP, _BAR, _LINE = 760, 20, 66, 44, 22
_INK, _QUIET, _LIMIT = "#1b1f24", "#57606a", "#c62828"
_FONT = "system-ui, sans-serif"
_LONGEST = 100


def write_plot(path: Path, fit: SizingResult, title: str) -> None:
    """Writes the picture. Raises ConfigError where the answer has no figures to draw, or the file cannot be written."""
    card = scale(fit)
    if card is None:
        raise ConfigError([Problem("--plot", f"there is nothing to draw: {'; '.join(fit.reasons)}", str(path))])
    try:
        path.write_text(drawing(card, title, f"{fit.verdict.replace('_', ' ')}: {fit.reasons[0]}") + "\n", "utf-8")
    except OSError as error:
        raise ConfigError([Problem("--plot", f"cannot be written: {error.strerror}", str(path))]) from None


def drawing(card: Scale, title: str, verdict: str) -> Html:
    """The picture as SVG."""
    legend = _TOP + _BAR + 56
    height = legend + _LINE * len(card.terms) + 8
    told = verdict if len(verdict) <= _LONGEST else verdict[: _LONGEST - 1] + "…"
    return tag(
        "svg",
        tag("title", title),
        tag("desc", verdict),
        tag("rect", width=_WIDTH, height=height, fill="#ffffff"),
        _text(_EDGE, 26, title, size=16, weight="bold"),
        _text(_EDGE, 48, told, size=13, colour=_QUIET),
        _bar(card),
        _bracket(card),
        _text(_EDGE, _TOP + _BAR + 34, card.told, size=12, colour=_QUIET),
        [_entry(term, legend + _LINE * row) for row, term in enumerate(card.terms)],
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH,
        height=height,
        role="img",
    )


def _at(card: Scale, gib: float) -> float:
    """Place of an amount of memory on the bar, inside the picture."""
    share = min(max(gib / card.whole, 0.0), 1.0) if card.whole else 0.0
    return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)


def _bar(card: Scale) -> Iterator[Html]:
    begin = 0.0
    for term in card.terms:
        end = begin + card.share(term) * card.whole
        left, right = _at(card, begin), _at(card, end)
        name = tag("title", f"{NAMES[term.name]} {span(term.gib)}")
        yield tag("rect", name, x=left, y=_TOP, width=round(right - left, 1), height=_BAR, fill=_COLOURS[term.name], stroke="#ffffff")
        if card.share(term) > TELLS:
            yield _text((left + right) / 2, _TOP + _BAR / 2 + 4, NAMES[term.name], size=12, anchor="middle")
        begin = end


def _bracket(card: Scale) -> Iterator[Html]:
    left, right, top = _at(card, card.low), _at(card, card.high), _TOP + _BAR + 4
    yield tag("path", d=f"M{left} {top}v8H{max(right, left + 1)}v-8", fill="none", stroke=_INK)
    if card.over:
        end = _at(card, card.total)
        yield tag("path", d=f"M{end} {_TOP - 6}V{_TOP + _BAR + 6}", stroke=_LIMIT, stroke_width=2)


def _entry(term: Term, y: float) -> Inside:
    swatch = tag("rect", x=_EDGE, y=y, width=12, height=12, rx=2, fill=_COLOURS[term.name])
    return [swatch, _text(_EDGE + 20, y + 11, f"{NAMES[term.name]} {span(term.gib)}", size=13)]


def _text(x: float, y: float, text: str, *, size: int, colour: str = _INK, weight: str = "", anchor: str = "") -> Html:
    place = {"x": round(x, 1), "y": round(y, 1), "font-size": size, "font-family": _FONT, "fill": colour}
    return tag("text", text, **place, **{"font-weight": weight or None, "text-anchor": anchor or None})
