"""Which files belong together: whole-set rules must not join a Service of one project to a Deployment of another."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from interlock.infra.recognise import Document

Identity = tuple[str, str, str]
# Repeated without harm in files that are applied together.
_SHARED = frozenset({"Namespace", "CustomResourceDefinition", "List", ""})


def file_sets(documents: Sequence[Document], files: Sequence[str]) -> list[list[str]]:
    """The files in groups that can be applied together.

    Two files that define the same object are never one set, since the second would overwrite the first: then each directory is
    a set of its own, and where one directory still repeats an object, each file.
    """
    objects: dict[str, set[Identity]] = {file: set() for file in files}
    for document in documents:
        identity = _identity(document.data)
        if identity and document.file in objects:
            objects[document.file].add(identity)
    return _split(list(files), objects, 0)


def _identity(data: object) -> Identity | None:
    if not isinstance(data, Mapping):
        return None
    metadata = data.get("metadata")
    kind = str(data.get("kind") or "")
    if kind in _SHARED or not isinstance(metadata, Mapping) or not metadata.get("name"):
        return None
    return kind, str(metadata.get("namespace") or ""), str(metadata["name"])


def _split(files: list[str], objects: Mapping[str, set[Identity]], depth: int) -> list[list[str]]:
    if len(files) < 2 or not _repeats(files, objects):
        return [files]
    groups: dict[str, list[str]] = {}
    for file in files:
        folders = PurePosixPath(file).parent.parts
        groups.setdefault(folders[depth] if depth < len(folders) else "", []).append(file)
    if len(groups) == 1 and depth >= max(len(PurePosixPath(file).parent.parts) for file in files):
        return [[file] for file in files]
    return [found for group in groups.values() for found in _split(group, objects, depth + 1)]


def _repeats(files: Sequence[str], objects: Mapping[str, set[Identity]]) -> bool:
    seen: set[Identity] = set()
    for file in files:
        if seen & objects[file]:
            return True
        seen |= objects[file]
    return False
