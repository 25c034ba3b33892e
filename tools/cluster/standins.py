"""What a stack expects of its cluster and does not make itself, as stand-ins that let it be deployed on a local control plane.

Read from the rendered objects alone: whatever one of them names (a Secret, a gateway, a class, a kind) and none of them is.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.cluster import extensions
from tools.cluster.lifecycle import kubectl
from tools.cluster.state import Cluster

MARK = "interlock.dev/stand-in"
STACK = "interlock.dev/stack"
PLACEHOLDER = "stand-in"
#: Fields that hold the name of an object, by the kind of that object.
_NAMES = {
    "claimName": "PersistentVolumeClaim",
    "ingressClassName": "IngressClass",
    "priorityClassName": "PriorityClass",
    "runtimeClassName": "RuntimeClass",
    "secretName": "Secret",
    "serviceAccountName": "ServiceAccount",
    "storageClassName": "StorageClass",
}
#: Fields that hold one or more mappings with the name, and perhaps the key, of an object.
_REFERENCES = {
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "imagePullSecrets": "Secret",
    "nodePublishSecretRef": "Secret",
    "secret": "Secret",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
    "secretTargetRef": "Secret",
}
_CLUSTER_WIDE = frozenset({"IngressClass", "Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "CustomResourceDefinition"})
_TLS_KEYS = ("tls.crt", "tls.key")


@dataclass(frozen=True, slots=True)
class Expected:
    """An object that another one names; ``keys`` are those of its data that are read, or a gateway's listeners."""

    kind: str
    name: str
    namespace: str = ""
    keys: frozenset[str] = field(default=frozenset())

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def expected(objects: Sequence[Mapping[str, Any]]) -> list[Expected]:
    """What ``objects`` name and are not, each once, with all keys that any of them reads; namespaces first."""
    own = {(each["kind"], _namespace(each), each["metadata"]["name"]) for each in objects}
    keys: dict[tuple[str, str, str], set[str]] = {}
    for each in objects:
        for found in _expected_of(each):
            at = (found.kind, found.namespace, found.name)
            if at not in own:
                keys.setdefault(at, set()).update(found.keys)
    return [
        Expected(kind, name, namespace, frozenset(keys[kind, namespace, name]))
        for kind, namespace, name in sorted(keys, key=lambda at: (at[0] != "Namespace", at))
    ]


def foreign_kinds(objects: Sequence[Mapping[str, Any]], served: Iterable[str]) -> list[Mapping[str, Any]]:
    """The first object of each kind whose group the API server does not serve; ``served`` are its ``group/version``."""
    groups = {version.partition("/")[0] for version in served if "/" in version} | {""}
    firsts = {(each["apiVersion"], each["kind"]): each for each in reversed(objects)}
    return [each for (version, _), each in sorted(firsts.items()) if version.rpartition("/")[0] not in groups]


def definition(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A definition without a schema for the kind of ``sample``, cluster-wide when that names no namespace."""
    group, _, version = sample["apiVersion"].rpartition("/")
    kind = sample["kind"]
    names = {"kind": kind, "plural": _plural(kind.lower())}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}", "labels": {MARK: "true"}},
        "spec": {"group": group, "names": names, "scope": "Namespaced" if _namespace(sample) else "Cluster", "versions": [served]},
    }


def manifest(wanted: Expected, stack: str, own_namespaces: frozenset[str]) -> dict[str, Any]:
    """The stand-in for ``wanted``; a namespace in which ``stack`` places objects is labelled as that stack's."""
    body = _BODIES[wanted.kind](wanted)
    labels = {MARK: "true"} | ({STACK: stack} if wanted.kind == "Namespace" and wanted.name in own_namespaces else {})
    metadata = {"name": wanted.name, "labels": labels} | ({"namespace": wanted.namespace} if wanted.namespace else {})
    return {"kind": wanted.kind, "metadata": metadata, **body}


def install(cluster: Cluster, stack: str, objects: list[dict[str, Any]], add_extensions: Callable[[], list[str]]) -> list[str]:
    """Makes what is missing in ``cluster``; returns every stand-in in words. Raises ToolError when one cannot be made."""
    said = []
    if extensions.groups() & {each["apiVersion"].rpartition("/")[0] for each in objects}:
        said += [f"CRDs of {name}, their controllers simulated" for name in add_extensions()]
    kinds = [definition(each) for each in foreign_kinds(objects, kubectl(cluster, "api-versions").split())]
    if kinds:
        _apply(cluster, kinds)
        kubectl(cluster, "wait", "--for=condition=Established", "--timeout=60s", "customresourcedefinitions", f"--selector={MARK}")
    said += [f"CRD {name} (without a schema)" for name in _definitions(cluster)]
    wanted = expected(objects)
    own = frozenset(_namespace(each) for each in objects)
    made = {str(each): manifest(each, stack, own) for each in wanted}
    theirs = _foreign(cluster, list(made.values()))
    kept = {name: body for name, body in made.items() if name not in theirs}
    if kept:
        _apply(cluster, list(kept.values()))
    return said + list(kept)


def _expected_of(each: Mapping[str, Any]) -> Iterator[Expected]:
    namespace = _namespace(each)
    if namespace:
        yield Expected("Namespace", namespace)
    if each["kind"] == "HTTPRoute":
        for parent in each["spec"].get("parentRefs", ()):
            home = parent.get("namespace", namespace)
            yield Expected("Namespace", home)
            yield Expected("Gateway", parent["name"], home, frozenset(filter(None, [parent.get("sectionName")])))
    yield from _walk(each.get("spec", {}), namespace)


def _walk(value: Any, namespace: str) -> Iterator[Expected]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _NAMES and isinstance(inner, str) and inner and not value.get("optional"):
                kind = _NAMES[key]
                tls = frozenset(_TLS_KEYS) if "hosts" in value else frozenset[str]()
                yield Expected(kind, inner, "" if kind in _CLUSTER_WIDE else namespace, tls)
            elif key in _REFERENCES:
                for given in inner if isinstance(inner, list) else [inner]:
                    if isinstance(given, Mapping) and given.get("name") and not given.get("optional"):
                        yield Expected(_REFERENCES[key], given["name"], namespace, frozenset(filter(None, [given.get("key")])))
            yield from _walk(inner, namespace)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner, namespace)


def _secret(wanted: Expected) -> dict[str, Any]:
    tls = wanted.keys.issuperset(_TLS_KEYS)
    return {
        "apiVersion": "v1",
        "type": "kubernetes.io/tls" if tls else "Opaque",
        "stringData": dict.fromkeys(sorted(wanted.keys), PLACEHOLDER),
    }


def _gateway(wanted: Expected) -> dict[str, Any]:
    listener = {"protocol": "HTTP", "port": 80, "allowedRoutes": {"namespaces": {"from": "All"}}}
    names = sorted(wanted.keys) or ["http"]
    listeners = [listener | {"name": name, "port": 80 + number} for number, name in enumerate(names)]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "spec": {"gatewayClassName": "simulated", "listeners": listeners},
    }


def _claim(wanted: Expected) -> dict[str, Any]:
    del wanted
    spec = {"accessModes": ["ReadWriteMany"], "storageClassName": "shared", "resources": {"requests": {"storage": "1Ti"}}}
    return {"apiVersion": "v1", "spec": spec}


_BODIES: dict[str, Callable[[Expected], dict[str, Any]]] = {
    "ConfigMap": lambda wanted: {"apiVersion": "v1", "data": dict.fromkeys(sorted(wanted.keys), PLACEHOLDER)},
    "Gateway": _gateway,
    "Namespace": lambda _: {"apiVersion": "v1"},
    "ServiceAccount": lambda _: {"apiVersion": "v1"},
    "IngressClass": lambda _: {"apiVersion": "networking.k8s.io/v1", "spec": {"controller": extensions.CONTROLLER}},
    "PersistentVolumeClaim": _claim,
    "PriorityClass": lambda _: {"apiVersion": "scheduling.k8s.io/v1", "value": 0, "description": "Stand-in of a rehearsal."},
    "RuntimeClass": lambda wanted: {"apiVersion": "node.k8s.io/v1", "handler": wanted.name},
    "Secret": _secret,
    "StorageClass": lambda _: {"apiVersion": "storage.k8s.io/v1", "provisioner": extensions.CONTROLLER, "volumeBindingMode": "Immediate"},
}


def _namespace(each: Mapping[str, Any]) -> str:
    return str(each["metadata"].get("namespace", ""))


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def _definitions(cluster: Cluster) -> list[str]:
    """Names of the definitions that this rehearsal or an earlier one made."""
    return kubectl(cluster, "get", "customresourcedefinitions", f"--selector={MARK}", "-o", "jsonpath={.items[*].metadata.name}").split()


def _foreign(cluster: Cluster, made: list[dict[str, Any]]) -> set[str]:
    """Of ``made``, those that the cluster has already and that are no stand-ins: its own classes, an object that a person made."""
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
    printed = kubectl(cluster, "get", "-f", "-", "--ignore-not-found", "-o", "json", given=given).strip()
    read = json.loads(printed) if printed else {"items": []}
    items = read.get("items", [read])
    return {
        str(Expected(each["kind"], each["metadata"]["name"], _namespace(each)))
        for each in items
        if MARK not in each["metadata"].get("labels", {})
    }


def _apply(cluster: Cluster, items: list[dict[str, Any]]) -> None:
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    kubectl(cluster, "apply", "--server-side", "--force-conflicts", "--field-manager=interlock-local", "-f", "-", given=given)
