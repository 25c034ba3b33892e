"""What fills one GPU of a server, to scale, with the interval in which the KV cache begins."""

from interlock.cli.page.markup import Html, percent, tag
from interlock.infra.sizing import Estimate, SizingResult, Term

_NAMES = {
    "weights": "weights",
    "activation": "activation peak",
    "cuda_graphs": "CUDA graphs",
    "non_torch": "non-torch",
    "kv_cache": "KV cache",
    "outside": "left free",
}
_TELLS = 0.14
"""Part of the bar from which on a name fits into it."""


def memory(fit: SizingResult) -> Html:
    """The bar of one GPU and its legend; a sentence where nothing is known."""
    terms = [term for name in _NAMES if (term := fit.term(name)) is not None]
    if not terms or fit.total_gib is None:
        return tag("p", "memory: ", "; ".join(fit.reasons), class_="quiet")
    total = fit.total_gib.likely
    whole = max(sum(max(term.gib.likely, 0.0) for term in terms), total)
    held = [term for term in terms if term.name not in ("kv_cache", "outside")]
    low, high = sum(term.gib.low for term in held), min(sum(term.gib.high for term in held), whole)
    over = whole > total * 1.001
    bar = tag("div", [_part(term, whole) for term in terms], class_="bar")
    spent = f"{low:.1f} to {sum(term.gib.high for term in held):.1f} GiB of {total:.1f} GiB"
    told = f"the bracket: where the KV cache begins, {spent}" + ("; the red line: the card ends" if over else "")
    mark = tag("div", class_="interval", style=f"left:{percent(low, whole)};width:{percent(max(high - low, 0), whole)}", title=told)
    limit = tag("div", class_="limit", style=f"left:{percent(total, whole)}", title=f"the card ends: {total:.1f} GiB")
    return tag(
        "div", tag("div", bar, mark, limit if over else "", class_="scale"), tag("p", told, class_="quiet"), _legend(terms), class_="memory"
    )


def _part(term: Term, whole: float) -> Html:
    share = max(term.gib.likely, 0.0) / whole if whole else 0.0
    name = _NAMES[term.name] if share > _TELLS else ""
    return tag("div", name, class_=f"part {term.name}", style=f"width:{percent(share, 1)}", title=f"{_NAMES[term.name]} {_range(term.gib)}")


def _legend(terms: list[Term]) -> Html:
    told = (tag("li", tag("span", class_=f"swatch {term.name}"), f"{_NAMES[term.name]} {_range(term.gib)}") for term in terms)
    return tag("ul", told, class_="legend")


def _range(estimate: Estimate) -> str:
    if estimate.likely < 0:
        return f"{-estimate.likely:.1f} GiB short"
    low, likely, high = (f"{each:.1f}" for each in (estimate.low, estimate.likely, estimate.high))
    return f"{likely} GiB" if low == high else f"{likely} ({low} to {high}) GiB"
