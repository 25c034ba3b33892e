"""What recognition knows of the whole set while it reads one document."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.infra.facts import Fact, known, unknown
from interlock.infra.recognise.document import MISSING, Document, Node

_LONGEST = 500_000
_PROFILE = re.compile(r"\.profile\s*==\s*['\"]([0-9]+g\.[0-9]+gb)['\"]")
Parse = Callable[[str], Any]
"""Reads embedded YAML text; raises ValueError when it cannot."""


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """Devices that a ResourceClaim (template) allocates."""

    name: str
    device_class: str
    count: Fact[int]
    """1 where none is stated; unknown for all devices that match."""
    profile: str = ""
    """MIG profile that its selector asks for."""


@dataclass(frozen=True, slots=True)
class Context:
    """Objects that others refer to by name."""

    parse: Parse | None = None
    """Without one only JSON texts are read."""
    config_maps: Mapping[str, Mapping[str, Fact[str]]] = field(default_factory=dict)
    device_claims: Mapping[tuple[str, str], tuple[DeviceRequest, ...]] = field(default_factory=dict)
    """Requests of the claims and claim templates by (kind, name)."""
    runtimes: Mapping[str, Node] = field(default_factory=dict)
    """KServe serving runtimes by name."""
    images: Mapping[str, str] = field(default_factory=dict)
    """What kustomize makes of an image name: ``name:tag`` or ``name@digest``."""
    profiles: Mapping[str, Node] = field(default_factory=dict)
    """KubeAI's resource profiles by name, where the ConfigMap of its configuration is in the set."""
    engine_images: Mapping[str, Fact[str]] = field(default_factory=dict)
    """Images of its vLLM servers by the name that a profile gives."""
    injected: Mapping[str, Fact[str]] = field(default_factory=dict)
    """Environment that an operator adds to every container."""

    def load(self, node: Node) -> Node:
        """The structure inside a text, at the text's own path; nothing (missing) when it cannot be read."""
        text = node.string()
        if len(text) > _LONGEST:
            return Node(MISSING, node.path)
        try:
            return Node((self.parse or json.loads)(text), node.path)
        except (ValueError, RecursionError):
            return Node(MISSING, node.path)

    def broken(self, node: Node) -> bool:
        """Whether a text that should hold YAML holds none; never claimed where YAML cannot be read here."""
        return self.parse is not None and bool(node.string().strip()) and not self.load(node)


def gather(documents: Iterable[Document], parse: Parse | None) -> Context:
    """Reads what other documents refer to."""
    maps: dict[str, Mapping[str, Fact[str]]] = {}
    claims: dict[tuple[str, str], tuple[DeviceRequest, ...]] = {}
    runtimes: dict[str, Node] = {}
    images: dict[str, str] = {}
    profiles: dict[str, Node] = {}
    engine_images: dict[str, Fact[str]] = {}
    for document in documents:
        root = Node(document.data, document.path)
        kind, name = root["kind"].string(), root.at("metadata", "name").string()
        if kind == "ConfigMap":
            # Raw: scripts are full of shell variables.
            maps[name] = root["data"].facts(raw=True)
            own = _kubeai(root["data"], parse)
            profiles |= dict(own["resourceProfiles"].fields())
            engine_images |= own.at("modelServers", "VLLM", "images").facts()
        elif kind in ("ResourceClaimTemplate", "ResourceClaim"):
            spec = root["spec"]["spec"] if kind == "ResourceClaimTemplate" else root["spec"]
            claims[kind, name] = device_requests(spec)
        elif kind in ("ServingRuntime", "ClusterServingRuntime"):
            runtimes[name] = root
        elif kind in ("Kustomization", ""):
            images |= _renamed_images(root)
    return Context(parse, maps, claims, runtimes, images, profiles, engine_images)


def _kubeai(data: Node, parse: Parse | None) -> Node:
    """The configuration that KubeAI reads from its ConfigMap; nothing when this is another one."""
    found = next((node for _, node in data.fields() if "resourceProfiles:" in node.string()), Node(MISSING, data.path))
    return Context(parse).load(found)


def _renamed_images(root: Node) -> Mapping[str, str]:
    """The ``images`` of a kustomization (whose kind may be left out)."""
    found = {}
    for entry in root["images"].items():
        name, tag, digest = entry["name"].string(), entry["newTag"].string(), entry["digest"].string()
        if name and (tag or digest):
            found[name] = f"{entry['newName'].string() or name}{f':{tag}' if tag else ''}{f'@{digest}' if digest else ''}"
    return found


def device_requests(spec: Node) -> tuple[DeviceRequest, ...]:
    """The requests of a claim's spec, in the forms of the v1alpha3 to v1 API."""
    found = []
    for request in spec.at("devices", "requests").items():
        exact = request["exactly"] if request["exactly"] else request
        first = next(iter(request["firstAvailable"].items()), exact)
        every = first["allocationMode"].string() == "All" or len(list(request["firstAvailable"].items())) > 1
        count = unknown(first.path, "as many devices as match") if every else first["count"].integer().default(1)
        selected = (_PROFILE.search(each.at("cel", "expression").string()) for each in first["selectors"].items())
        profile = next((match[1] for match in selected if match), "")
        found.append(DeviceRequest(request["name"].string(), first["deviceClassName"].string(), count, profile))
    if not found and spec["resourceClassName"]:
        found.append(DeviceRequest("", spec["resourceClassName"].string(), known(1)))
    return tuple(found)
