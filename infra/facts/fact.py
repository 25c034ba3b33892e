"""One fact: a value, unknown or absent, with the path it came from."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class State(StrEnum):
    """Whether something is stated, stated but not readable now, or not stated at all."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value with its state and its path. Only ``known`` facts may decide an error."""

    state: State = State.ABSENT
    value: T | None = None
    path: str = ""
    """Where it stands in the document or config, in dotted form with ``[i]`` for list items."""
    why: str = ""
    """Why it is unknown: templated, from a Secret, an output not known until the update."""

    @property
    def known(self) -> bool:
        """The value can be used."""
        return self.state is State.KNOWN

    @property
    def absent(self) -> bool:
        """Nothing was stated, so a default holds."""
        return self.state is State.ABSENT

    @property
    def unknown(self) -> bool:
        """Something was stated that cannot be read now."""
        return self.state is State.UNKNOWN

    def get(self) -> T:
        """The value of a known fact. Raises LookupError for any other."""
        if self.state is not State.KNOWN:
            raise LookupError(f"{self.path or 'fact'} is {self.state}")
        return self.value  # type: ignore[return-value]

    def default(self, value: T) -> "Fact[T]":
        """This fact, or ``value`` as known when nothing was stated. An unknown fact stays unknown."""
        return Fact(State.KNOWN, value, self.path) if self.absent else self

    def map(self, change: Callable[[T], U]) -> "Fact[U]":
        """The same fact with its value changed; a ValueError in ``change`` makes it unknown."""
        if not self.known:
            return Fact(self.state, None, self.path, self.why)
        try:
            return Fact(State.KNOWN, change(self.get()), self.path)
        except (ValueError, ArithmeticError) as error:
            return Fact(State.UNKNOWN, None, self.path, str(error))


def known(value: T, path: str = "") -> Fact[T]:
    """A fact whose value is stated."""
    return Fact(State.KNOWN, value, path)


def unknown(path: str = "", why: str = "") -> Fact[Any]:
    """A fact that is stated in a form that cannot be read now."""
    return Fact(State.UNKNOWN, None, path, why)


def absent(path: str = "") -> Fact[Any]:
    """A fact that is not stated; ``path`` says where it would stand."""
    return Fact(State.ABSENT, None, path)
