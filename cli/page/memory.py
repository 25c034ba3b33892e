"""What fills one GPU of a server, to scale, with the interval in which the KV cache begins."""

from interlock.cli.page.markup import Html, percent, tag
from interlock.cli.page.scale import NAMES, TELLS, Scale, scale, span
from interlock.infra.sizing import SizingResult, Term


def memory(fit: SizingResult) -> Html:
    """The bar of one GPU and its legend; a sentence where nothing is known."""
    card = scale(fit)
    if card is None:
        return tag("p", "memory: ", "; ".join(fit.reasons), class_="quiet")
    low, high, whole = card.low, min(card.high, card.whole), card.whole
    bar = tag("div", [_part(term, card) for term in card.terms], class_="bar")
    place = f"left:{percent(low, whole)};width:{percent(max(high - low, 0), whole)}"
    mark = tag("div", class_="interval", style=place, title=card.told)
    limit = tag("div", class_="limit", style=f"left:{percent(card.total, whole)}", title=f"the card ends: {card.total:.1f} GiB")
    drawn = tag("div", bar, mark, limit if card.over else "", class_="scale")
    return tag("div", drawn, tag("p", card.told, class_="quiet"), _legend(card), class_="memory")


def _part(term: Term, card: Scale) -> Html:
    share = card.share(term)
    title = f"{NAMES[term.name]} {span(term.gib)}"
    return tag(
        "div", NAMES[term.name] if share > TELLS else "", class_=f"part {term.name}", style=f"width:{percent(share, 1)}", title=title
    )


def _legend(card: Scale) -> Html:
    told = (tag("li", tag("span", class_=f"swatch {term.name}"), f"{NAMES[term.name]} {span(term.gib)}") for term in card.terms)
    return tag("ul", told, class_="legend")
