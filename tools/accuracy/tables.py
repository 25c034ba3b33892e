"""Tables in Markdown."""

import math
from collections.abc import Iterable, Sequence


def percent(value: float, digits: int = 1) -> str:
    """A share as per cent; a dash where there is none."""
    return "-" if math.isnan(value) else f"{100 * value:.{digits}f} %"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])
