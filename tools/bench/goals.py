"""A measured number beside the number that is wanted, as one line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """``value`` of something in ``unit``, which is to be at most (or, for a rate, at least) ``wanted``."""

    name: str
    value: float
    unit: str
    wanted: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the number is as wanted."""
        return self.value >= self.wanted if self.at_least else self.value <= self.wanted

    def __str__(self) -> str:
        bound = "at least" if self.at_least else "at most"
        return f"goal {'met' if self.met else 'missed'}: {self.name} {self.value:.4g} {self.unit}, wanted {bound} {self.wanted:g}"
