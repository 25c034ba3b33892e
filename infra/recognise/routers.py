"""Routers in front of engines: production-stack's, which discovers its engines by their labels."""

from collections.abc import Iterator

from interlock.infra.facts import Router
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.env import read_environment
from interlock.infra.recognise.workloads import templates

_SELECTOR = "--k8s-label-selector"
_KEY = "VLLM_API_KEY"


def read_routers(root: Node, document: Document, context: Context) -> Iterator[Router]:
    """The containers whose words say how a router finds its engines."""
    for template in templates(root):
        for container in template.spec["containers"].items():
            words = [word.string() for key in ("command", "args") for word in container[key].items()]
            selector = _after(words, _SELECTOR)
            if selector and "--service-discovery" in " ".join(words):
                environment = read_environment(container, context.config_maps, context.injected)
                keyed = _KEY in environment.values or environment.open or any(_KEY in word for word in words)
                yield Router(origin(root, document), _labels(selector), keyed, f"{container.path}.env")


def _after(words: list[str], name: str) -> str:
    for index, word in enumerate(words):
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
        if word == name and index + 1 < len(words):
            return words[index + 1]
    return ""


def _labels(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if "=" in part and "!" not in part)
    return {key.strip(): value.strip("= ") for key, _, value in pairs}
