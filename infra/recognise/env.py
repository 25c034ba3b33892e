"""Environment of a container, with ``$(NAME)`` expansion as the kubelet does it and ConfigMaps of the same set looked up."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from interlock.infra.facts import Fact, known, unknown
from interlock.infra.recognise.document import Node

_EXPANSION = re.compile(r"\$\$|\$\(([A-Za-z_.][\w.-]*)\)")
_SOURCES = ("secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef")


@dataclass(frozen=True, slots=True)
class Environment:
    """What a container's process will see."""

    values: Mapping[str, Fact[str]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    open: bool = False
    """True when more variables come from objects that are not in the documents."""

    def lookup(self, name: str) -> Fact[str]:
        """The value of a variable; absent when nothing sets it."""
        found = self.values.get(name)
        if found is not None:
            return found
        return unknown(why=f"{name} may come from envFrom") if self.open else Fact()


Stores = Mapping[str, Mapping[str, Fact[str]]]
"""Data of the ConfigMaps in the documents, by name."""


def expand_known(text: str, environment: Environment) -> str:
    """``text`` with every ``$(NAME)`` replaced whose value is known; the rest as written."""

    def replace(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$$"
        value = environment.lookup(match.group(1))
        return value.get() if value.known else match.group(0)

    return _EXPANSION.sub(replace, text) if "$(" in text else text


def expand(text: str, environment: Environment, path: str) -> Fact[str]:
    """``text`` with ``$(NAME)`` replaced; an undefined name stays as written, as in Kubernetes."""
    lost: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        value = environment.lookup(match.group(1))
        if value.known:
            return value.get()
        if value.unknown:
            lost.append(match.group(1))
        return match.group(0)

    expanded = _EXPANSION.sub(replace, text) if "$" in text else text
    if lost:
        return unknown(path, f"$({lost[0]}) is not known here: {text[:200]}")
    return known(expanded, path)


def read_environment(container: Node, stores: Stores, injected: Mapping[str, Fact[str]]) -> Environment:
    """``envFrom`` and ``env`` of a container. A mapping instead of a list (charts, KubeAI, Dynamo) is taken as name to value."""
    values: dict[str, Fact[str]] = dict(injected)
    sources: dict[str, str] = {}
    opened = container["envFrom"].unknown or container["env"].unknown
    for entry in container["envFrom"].items():
        opened |= _from(entry, stores, values, sources)
    opened |= any(entry["name"].unknown for entry in container["env"].items())
    for name, node in _entries(container["env"]):
        if not name or (name in values and name not in sources and node["valueFrom"]):
            continue
        fact = _value(name, node, stores, sources)
        if fact.known and "$(" in fact.get():
            fact = expand(fact.get(), Environment(values, sources, opened), fact.path)
        values[name] = fact
    return Environment(values, sources, opened)


def _entries(env: Node) -> list[tuple[str, Node]]:
    if env.is_list:
        return [(entry["name"].string(), entry) for entry in env.items()]
    return [(name, node if node["valueFrom"] or node["value"] else Node({"value": node.value}, node.path)) for name, node in env.fields()]


def _from(entry: Node, stores: Stores, values: dict[str, Fact[str]], sources: dict[str, str]) -> bool:
    prefix = entry["prefix"].string()
    name = entry["configMapRef"]["name"].string()
    if name not in stores:
        return True
    for key, fact in stores[name].items():
        values[prefix + key] = fact
        sources[prefix + key] = f"configMapKeyRef:{name}/{key}"
    return False


def _value(name: str, node: Node, stores: Stores, sources: dict[str, str]) -> Fact[str]:
    source = node["valueFrom"]
    if not source:
        # An entry without a value is an empty text in Kubernetes.
        value = node["value"]
        return value.text(raw="$(" in value.string()) if value else known("", value.path)
    for kind in _SOURCES:
        if source[kind]:
            reference = source[kind]
            target = reference["name"].string()
            key = reference.first("key", "fieldPath", "resource").string()
            sources[name] = f"{kind}:{target}/{key}" if target else f"{kind}:{key}"
            found = stores.get(target, {}).get(key) if kind == "configMapKeyRef" else None
            return found or unknown(reference.path, f"from {kind} {target}/{key}" if target else f"from {kind} {key}")
    return unknown(source.path, "from a source that is not read")
