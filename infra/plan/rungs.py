"""The ladder on which predicted budgets stand: a prediction that moves a little changes no pod."""

import math
from collections.abc import Sequence

RUNGS = (300, 450, 600, 900, 1200, 1800, 2700, 3600)
"""Seconds; above the last one, multiples of ``STEP``."""
STEP = 1800


SILENCES = (120, 300, 600, 900, 1800, 3600)
"""The ladder for the silence of an engine."""


def rung(seconds: float, ladder: Sequence[int] = RUNGS) -> int:
    """The lowest rung that holds ``seconds``."""
    return next((each for each in ladder if each >= seconds), math.ceil(seconds / STEP) * STEP)
