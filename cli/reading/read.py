"""From paths to documents: one problem for each text that cannot be read, never an exception for what a file holds."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.cli.reading import pulumi
from interlock.cli.reading.files import Text, read_texts
from interlock.cli.reading.marked import Marked, Unreadable, compose, read_stream, too_deep
from interlock.cli.reading.templates import has_expressions, is_template
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise import Document


@dataclass(slots=True)
class FileRead:
    """One file with its documents, or why it was not judged."""

    name: str
    documents: list[Marked] = field(default_factory=list)
    why: str = ""

    def place(self, document: int, path: str, text: str = "") -> tuple[int, int]:
        """Line and column (from 1) of a field (of ``text`` inside it); the first line when the document is not there."""
        found = next((marked for marked in self.documents if marked.index == document), None)
        return found.place(path, text) if found else (1, 1)


@dataclass(slots=True)
class Reading:
    """Everything that was read."""

    files: dict[str, FileRead] = field(default_factory=dict)
    documents: list[Document] = field(default_factory=list)
    problems: list[DocumentProblem] = field(default_factory=list)


def read_paths(paths: Iterable[str], exclude: Sequence[str] = ()) -> Reading:
    """Reads all files under ``paths``. Raises ConfigError only for a path that does not exist."""
    reading = Reading()
    for text in read_texts(paths, exclude):
        reading.files[text.name] = _read(text, reading)
    return reading


def _read(text: Text, reading: Reading) -> FileRead:
    file = FileRead(text.name, why=text.why)
    if text.why:
        return file
    if is_template(text.text):
        file.why = "template, not judged: render it first (helm template, kustomize build) and check the output"
        return file
    try:
        _json(text, file, reading) or _yaml(text, file, reading)
    except RecursionError:
        file.why = "nested too deeply to be read"
    if not file.why and all(marked.data is None and not marked.error for marked in file.documents):
        file.why = "empty"
    return file


def _json(text: Text, file: FileRead, reading: Reading) -> bool:
    """Reads JSON, whose parser is far faster; False when the text is none."""
    if text.text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        data: Any = json.loads(text.text)
    except (ValueError, RecursionError):
        return False
    if too_deep(data):
        return False  # Told as of YAML, with its place.
    marked = _LazyMarks(data=data)
    marked.text = text.text
    file.documents.append(marked)
    found = pulumi.resources(data, text.name)
    reading.documents.extend([Document(data, text.name, 0)] if found is None else found)
    return True


class _LazyMarks(Marked):
    """A JSON document whose places are only looked up when something is found in it."""

    text: str = ""

    def place(self, path: str, text: str = "") -> tuple[int, int]:
        """Line and column of a field."""
        if self.node is None:
            try:
                self.node = compose(self.text)
            except Unreadable:
                return 1, 1
        return Marked.place(self, path, text)


def _yaml(text: Text, file: FileRead, reading: Reading) -> bool:
    documents = list(read_stream(text.text))
    if any(marked.error for marked in documents) and has_expressions(text.text):
        file.why = "template, not judged: render it first and check the output"
        return True
    for marked in documents:
        origin = Origin(file=text.name, document=marked.index)
        file.documents.append(marked)
        if marked.error:
            what = f"line {marked.error.line}, column {marked.error.column}: {marked.error.why}"
            reading.problems.append(
                DocumentProblem(origin, "yaml-invalid", what, remedy="repair the YAML; nothing in this document was judged")
            )
            continue
        origin = _origin(marked, text.name)
        for duplicate in marked.duplicates:
            said = f"the key {duplicate.key!r} stands twice in one mapping; the last one counts and the first is lost"
            reading.problems.append(DocumentProblem(origin, "dup-key", said, duplicate.path, duplicate.key, "keep one of them"))
        if marked.data is not None:
            made = pulumi.program(marked.data, text.name, marked.index)
            reading.documents.extend([Document(marked.data, text.name, marked.index)] if made is None else made)
    return True


def _origin(marked: Marked, file: str) -> Origin:
    data = marked.data if isinstance(marked.data, dict) else {}
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    notes = metadata.get("annotations")
    annotations = {str(key): value for key, value in notes.items() if isinstance(value, str)} if isinstance(notes, dict) else {}
    return Origin(
        kind=str(data.get("kind") or ""), name=str(metadata.get("name") or ""), file=file, document=marked.index, annotations=annotations
    )
