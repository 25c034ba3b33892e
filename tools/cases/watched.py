"""A case's input that knows which of its keys were read: what nobody read was not judged."""

from collections.abc import Iterator, Mapping
from typing import Any


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

    def changed(self, changes: Mapping[str, Any]) -> "Watched":
        """The same with other values; who reads them reads these keys."""
        return Watched({**self._data, **changes}, self._read, self._base)

    def unread(self) -> list[str]:
        """Keys of sections, and whole sections, that nobody asked for."""
        names = []
        for section, value in self._data.items():
            inner = [f"{section}.{key}" for key in value] if isinstance(value, Mapping) else []
            names += [name for name in inner or [section] if name not in self._read]
        return names


def changed(source: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """A mapping with other values, watched where it was."""
    return source.changed(changes) if isinstance(source, Watched) else {**source, **changes}
