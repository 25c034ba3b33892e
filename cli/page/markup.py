"""HTML as values: text is escaped, elements are not, and every element is closed."""

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"meta"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


Inside = str | Iterable["Inside"]
"""What stands in an element: text, HTML, or several of them."""


def tag(name: str, /, *inside: Inside, **attributes: object) -> Html:
    """An element. ``class_`` is the attribute ``class``; an attribute that is None or False is left out, one that is True has no value."""
    told = "".join(_attribute(key.strip("_").replace("_", "-"), value) for key, value in attributes.items() if value not in (None, False))
    return Html(f"<{name}{told}>" if name in _VOID else f"<{name}{told}>{html(inside)}</{name}>")


def html(inside: Inside) -> Html:
    """Everything one after the other; what is not HTML is escaped."""
    if isinstance(inside, Html):
        return inside
    if isinstance(inside, str):
        return Html(escape(inside, quote=False))
    return Html("".join(html(each) for each in inside))


def percent(part: float, whole: float) -> str:
    """A share as CSS writes it, with two decimals."""
    return f"{100 * part / whole:.2f}%" if whole > 0 else "0%"


def _attribute(name: str, value: object) -> str:
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
