"""The ladder on which predicted budgets stand: a prediction that moves a little changes no pod."""

import math

RUNGS = (300, 450, 600, 900, 1200, 1800, 2700, 3600)
"""Seconds; above the last one, multiples of ``STEP``."""
STEP = 1800


def rung(seconds: float) -> int:
    """The lowest rung that holds ``seconds``."""
    return next((each for each in RUNGS if each >= seconds), math.ceil(seconds / STEP) * STEP)
