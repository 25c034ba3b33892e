"""Every start of a real engine that the tests make, beside what was planned for it: judged in one place."""

import os
from dataclasses import dataclass, field

from interlock.infra.sizing.result import Estimate

COVERED = 0.95
"""Part of all starts that the high end of the plan has to cover."""
BUSY = 5.0
"""Load of a processor's core above which a start says nothing of the engine: it waits for others."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One start: from the beginning of the container, or process, until it answers."""

    name: str
    seconds: float
    planned: Estimate
    load: float
    """Of the machine at its end, per core."""

    @property
    def told(self) -> str:
        """As one line."""
        low, likely, high = self.planned.low, self.planned.likely, self.planned.high
        return f"{self.name}: {self.seconds:.1f} s; planned {low:.0f}, {likely:.0f}, {high:.0f}; load {self.load:.0f} a core"


@dataclass(slots=True)
class Starts:
    """The starts of a session."""

    seen: list[Seen] = field(default_factory=list)

    def add(self, name: str, seconds: float, planned: Estimate) -> str:
        """Keeps one; returns it as a line."""
        self.seen.append(Seen(name, seconds, planned, os.getloadavg()[0] / (os.cpu_count() or 1)))
        return self.seen[-1].told

    @property
    def beyond(self) -> list[Seen]:
        """Those that took longer than the high end on a machine that had time for them."""
        return [each for each in self.seen if each.seconds > each.planned.high and each.load <= BUSY]

    def problem(self) -> str:
        """Why the plan's times do not hold; empty while they do."""
        late, most = self.beyond, int(len(self.seen) * (1 - COVERED) + 1e-9)
        if len(late) <= most:
            return ""
        return f"{len(late)} of {len(self.seen)} starts took longer than planned: {'; '.join(each.told for each in late)}"
