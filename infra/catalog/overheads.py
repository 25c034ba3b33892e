"""Figures that were fitted on logs, not derived: each is (low, likely, high), with what was believed before any log was read.

``python -m tools.accuracy --fit`` writes ``overheads.json``; docs/accuracy.md judges the same fit on logs that it has not seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from interlock.infra.catalog.tables import table

Figure = tuple[float, float, float]
"""(low, likely, high) in the unit of the row."""
TABLE = "overheads.json"


@dataclass(frozen=True, eq=False)
class Overheads:
    """All fitted figures by name. Two are equal only when they are the same object, so that a request that carries them can be hashed."""

    figures: Mapping[str, Figure]

    def of(self, name: str) -> Figure:
        """The figure of that name. Raises KeyError."""
        return self.figures[name]


@cache
def fitted() -> Overheads:
    """The figures fitted on all logs at hand."""
    return Overheads({name: _figure(row["fitted"]) for name, row in table(TABLE).items()})


@cache
def priors() -> Overheads:
    """What is believed of each figure before any log: its place in the code, or its likes."""
    return Overheads({name: _figure(row["prior"]) for name, row in table(TABLE).items()})


def _figure(row: list[float]) -> Figure:
    low, likely, high = row
    return low, likely, high
