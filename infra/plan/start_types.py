"""How long a replica takes until it is ready, as a part of the plan."""

from interlock.infra.plan.base import Planned
from interlock.infra.sizing.start import StartTime


class PlannedStart(Planned):
    """How long a replica takes until it is ready."""

    cold: StartTime
    """On a node that has neither the image nor the weights, with nothing compiled."""
    warm: StartTime
    """A container that restarts in its pod: the image, the weights and the compiled kernels are there."""
