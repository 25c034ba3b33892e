"""A case's input that knows which of its keys were read: what nobody read was not judged."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class Watched(Mapping[str, Any]):
    """A mapping that remembers the keys that were asked for; its sections remember theirs. Going through the keys reads none."""

    def __init__(self, data: Mapping[str, Any], read: set[str] | None = None, base: str = "") -> None:
        self._data, self._base = data, base
        self._read = set() if read is None else read

    def __getitem__(self, key: str) -> Any:
        value = self._data[key]
        self._read.add(f"{self._base}{key}")
        inner = not self._base and isinstance(value, Mapping) and not isinstance(value, Watched)
        return Watched(value, self._read, f"{key}.") if inner else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def peek(self, key: str) -> Any:
        """A value that is looked at without being read."""
        return self._data.get(key)

    def unread(self) -> list[str]:
        """Keys of sections, and whole sections, that nobody asked for."""
        names = []
        for section, value in self._data.items():
            inner = [f"{section}.{key}" for key in value] if isinstance(value, Mapping) else []
            names += [name for name in inner or [section] if name not in self._read]
        return names


def read_if(source: Mapping[str, Any], key: str, reader: Callable[[Any], T | None]) -> T | None:
    """What ``reader`` makes of a value; the value counts as read only where that is something."""
    value = source.peek(key) if isinstance(source, Watched) else source.get(key)
    found = None if value is None else reader(value)
    return found if found is not None and key in source else None


def one_of(source: Mapping[str, Any], key: str, *words: str) -> bool:
    """Whether a value is one of the words; any other is not read."""
    return read_if(source, key, lambda value: str(value).lower() in words or None) is True
