"""What a person should have filled in: placeholders and template text in the values of a workload."""

import re
from collections.abc import Collection, Iterator
from typing import Any

from interlock.infra.catalog.images import image_reference
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.paths import Step, path_of
from interlock.infra.recognise.document import MAPPING, Node, is_unknown, scalar_text

# IMAGE_NAME alone, <your-registry>, YOUR_BUCKET, REPLACE_ME, CHANGEME: words that stand for a value.
PLACEHOLDER = re.compile(
    r"<[A-Za-z][\w ./:-]{1,60}>|\b(?:YOUR|REPLACE|INSERT|ENTER)[-_ ][A-Z_]+|\bYOUR[-_]\w+"
    r"|\byour-(?:registry|model|image|domain|bucket|repo|org)\b"
    r"|\bCHANGE[-_]?ME\b|\bREPLACE[-_]?ME\b|\bTODO\b|^[A-Z]+(?:_[A-Z]+)+$",
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_BRACES = re.compile(r"\{\{[^{}]{1,120}\}\}")
_PLACES = {"image", "claimName", "bucketName", "storageUri", "modelURL", "uri", "server", "host", "hostPath", "modelId", "model"}
_DESCRIBING = frozenset({"managedFields", "status", "annotations", "data", "stringData"})
_LONGEST = 300
_DEEPEST = 14
# Words of a command line: there, angle brackets and capitals are often meant (<think>, FLASH_ATTN).
_IN_WORDS = re.compile(
    r"\bREPLACE[-_]?ME\b|\bCHANGE[-_]?ME\b|\bTODO\b|\bYOUR[-_]\w+|\byour-(?:model|bucket|repo|org)\b|@[A-Z][A-Z0-9_]*@|%%\w+%%"
    r"|(?:^|=|/)__[A-Za-z]\w*__(?:$|/)|<(?:your|my|model|path|name|token|image|namespace)[\w ./:-]*>"
)
_SHELL_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)(?::?-[^}]*)?\}|(?<![\w$\\])\$([A-Z][A-Z0-9_]+)\b")
_PLAIN_PROGRAMS = ("vllm", "python", "python3")


# KServe's LLMInferenceService hands it to a shell (config/llmisvcconfig: eval "vllm serve ... ${VLLM_ADDITIONAL_ARGS}").
_EVALUATED = ("VLLM_ADDITIONAL_ARGS",)


def leftovers(root: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """Placeholders and template expressions in the values that decide what runs; a chart's templates may expand those of its values."""
    applied = bool(root["apiVersion"]) and "serving.kserve.io" not in root["apiVersion"].string()
    for text, name, steps in _texts(root.value, "", ()):
        place = path_of(steps, root.path)
        if name in _PLACES and PLACEHOLDER.search(text):
            yield DocumentProblem(origin, "placeholder", f"{text[:80]!r} is a placeholder", place, text[:80], "fill in the real value")
        elif applied and _BRACES.search(text) and name not in ("args", "command", "value"):
            said = f"{text[:80]!r} holds a template expression, which Kubernetes takes as it stands"
            yield DocumentProblem(origin, "template-leftover", said, place, text[:80], "render the template before it is applied")


def unexpanded(root: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """``${NAME}`` where no shell reads it: in the environment of a container, and in the words of a program."""
    for container in _containers(root, 0):
        for entry in container["env"].items():
            if not _SECRET.search(entry["name"].string()) and entry["name"].string() not in _EVALUATED:
                yield from _shell_text(entry["value"], origin)
        words = [*container["command"].items(), *container["args"].items()]
        named = {entry["name"].string() for entry in container["env"].items()}
        for word in words if _reads_no_shell(container) else ():
            text = word.string()
            if text and len(text) <= _LONGEST and _IN_WORDS.search(text):
                yield DocumentProblem(
                    origin, "placeholder", f"{text[:80]!r} is a placeholder", word.path, text[:80], "fill in the real value"
                )
            # A variable of the container itself is told with the arguments.
            yield from _shell_text(word, origin, named)


def _shell_text(node: Node, origin: Origin, but: Collection[str] = ()) -> Iterator[DocumentProblem]:
    text = node.string()
    found = _SHELL_VARIABLE.search(text) if 0 < len(text) <= _LONGEST and "\n" not in text else None
    if found and (found[1] or found[2]) not in but:
        name = found[1] or found[2]
        said = f"no shell reads {text[:80]!r}: Kubernetes expands $({name}), and leaves {found[0]} as it stands"
        remedy = f"write $({name}), with {name} in env before it, or the value itself"
        yield DocumentProblem(origin, "template-leftover", said, node.path, text[:80], remedy)


def _reads_no_shell(container: Node) -> bool:
    """Whether the words of a container reach a program as they stand: the engine's own, or the stock image's entrypoint."""
    first = next(iter(container["command"].items()), Node(None)).string()
    if not first:
        return image_reference(container["image"].string()).repository.startswith("vllm/vllm-openai")
    return first.rsplit("/", 1)[-1] in _PLAIN_PROGRAMS


def _containers(node: Node, depth: int) -> Iterator[Node]:
    if depth > _DEEPEST:
        return
    for key, child in node.fields() if node.mapping else (("", item) for item in node.items()):
        if key in ("containers", "initContainers"):
            yield from (item for item in child.items() if item.mapping)
        elif isinstance(child.value, dict | list):
            yield from _containers(child, depth + 1)


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a value that somebody has to fill in."""
    return PLACEHOLDER.search(text) is not None


def _texts(value: Any, name: str, steps: tuple[Step, ...]) -> list[tuple[str, str, tuple[Step, ...]]]:
    """(text, its field, steps to it) of the texts that may be left over; credentials, and what only describes, are left out."""
    if len(steps) > _DEEPEST or name in _DESCRIBING:
        return []
    if isinstance(value, str):
        looked_at = (name in _PLACES or "{{" in value) and len(value) <= _LONGEST and not is_unknown(value)
        return [(value, name, steps)] if looked_at else []
    found = []
    if isinstance(value, MAPPING) and not is_unknown(value):
        if not _SECRET.search(Node(value)["name"].string()):
            for key, child in value.items():
                field = scalar_text(key) or "?"
                found += _texts(child, field, (*steps, field))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            found += _texts(child, name, (*steps, index))
    return found
