"""What a person should have filled in: placeholders and template text in the values of a workload."""

import re
from collections.abc import Iterator

from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise.document import Node

# IMAGE_NAME alone, <your-registry>, YOUR_BUCKET, REPLACE_ME, CHANGEME: words that stand for a value.
PLACEHOLDER = re.compile(
    r"<[A-Za-z][\w ./:-]{1,60}>|\b(?:YOUR|REPLACE|INSERT|ENTER)[-_ ][A-Z_]+|\bYOUR[-_]\w+"
    r"|\byour-(?:registry|model|image|domain|bucket|repo|org)\b"
    r"|\bCHANGE[-_]?ME\b|\bREPLACE[-_]?ME\b|\bTODO\b|^[A-Z]+(?:_[A-Z]+)+$",
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_BRACES = re.compile(r"\{\{[^{}]{1,120}\}\}")
_PLACES = {"image", "claimName", "bucketName", "storageUri", "modelURL", "uri", "server", "host", "hostPath", "modelId", "model"}
_LONGEST = 300


def leftovers(root: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """Placeholders and template expressions in the values that decide what runs."""
    for node, name in _values(root, "", 0):
        text = node.string()
        if not text or len(text) > _LONGEST:
            continue
        if name in _PLACES and PLACEHOLDER.search(text):
            yield DocumentProblem(origin, "placeholder", f"{text[:80]!r} is a placeholder", node.path, text[:80], "fill in the real value")
        elif _BRACES.search(text) and name not in ("args", "command", "value") and "serving.kserve.io" not in root["apiVersion"].string():
            said = f"{text[:80]!r} holds a template expression, which Kubernetes takes as it stands"
            yield DocumentProblem(origin, "template-leftover", said, node.path, text[:80], "render the template before it is applied")


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a value that somebody has to fill in."""
    return PLACEHOLDER.search(text) is not None


def _values(node: Node, name: str, depth: int) -> Iterator[tuple[Node, str]]:
    if depth > 14 or name in ("managedFields", "status", "annotations", "data", "stringData"):
        return
    if node.mapping:
        if _SECRET.search(node["name"].string()):
            return
        for key, child in node.fields():
            yield from _values(child, key, depth + 1)
    elif node.is_list:
        for item in node.items():
            yield from _values(item, name, depth + 1)
    else:
        yield node, name
