"""Documents against the fields of the Kubernetes API: misspelt, misplaced, of the wrong type, missing, removed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from interlock.infra.catalog.tables import table
from interlock.infra.engine.words import templated
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise.document import Node

# Kubernetes deprecation guide: group versions that no supported API server has any more.
REMOVED = {
    ("extensions/v1beta1", "Deployment"): "apps/v1",
    ("extensions/v1beta1", "Ingress"): "networking.k8s.io/v1",
    ("apps/v1beta1", "Deployment"): "apps/v1",
    ("apps/v1beta2", "Deployment"): "apps/v1",
    ("apps/v1beta1", "StatefulSet"): "apps/v1",
    ("networking.k8s.io/v1beta1", "Ingress"): "networking.k8s.io/v1",
    ("autoscaling/v2beta1", "HorizontalPodAutoscaler"): "autoscaling/v2",
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler"): "autoscaling/v2",
    ("policy/v1beta1", "PodDisruptionBudget"): "policy/v1",
    ("batch/v1beta1", "CronJob"): "batch/v1",
}
_MOST = 40
_EXPECTED = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "number": "a number"}


@cache
def _homes() -> Mapping[str, tuple[str, ...]]:
    """Types that have a field of that name."""
    homes: dict[str, list[str]] = {}
    for name, entry in table("k8s_fields.json")["types"].items():
        for field in entry["fields"]:
            homes.setdefault(field, []).append(name)
    return {field: tuple(names) for field, names in homes.items()}


def schema_problems(root: Node, origin: Origin, *, whole: bool) -> list[DocumentProblem]:
    """All problems of one document of a kind that the table knows, at most 40.

    ``whole``: it is a complete object, no patch, so that a required field must stand in it.
    """
    version, kind = root["apiVersion"].string(), root["kind"].string()
    current = REMOVED.get((version, kind))
    if current:
        said = f"{version} {kind} exists in no supported Kubernetes"
        place = root["apiVersion"].path
        return [DocumentProblem(origin, "schema-broken", said, place, version, f"use {current} and its fields")]
    name = table("k8s_fields.json")["kinds"].get(f"{version}/{kind}")
    if name is None:
        return []
    walker = _Walker(origin, whole, [])
    walker.type(root, name, ())
    if whole:
        _selector(root, walker)
        _mounts(root, walker)
    return walker.found[:_MOST]


@dataclass(slots=True)
class _Walker:
    origin: Origin
    whole: bool
    found: list[DocumentProblem]

    def add(self, kind: str, text: str, path: str, value: str = "", remedy: str = "") -> None:
        self.found.append(DocumentProblem(self.origin, kind, text, path, value[:80], remedy))

    def type(self, node: Node, name: str, above: tuple[str, ...]) -> None:
        """A value that should be of a named type."""
        if len(self.found) > _MOST or node.unknown or not node:
            return
        if not isinstance(node.value, Mapping):
            self._mismatch(node, "a mapping")
            return
        entry = table("k8s_fields.json")["types"][name]
        for key, child in node.fields():
            if key == "status" and not above:
                continue
            expected = entry["fields"].get(key)
            if expected is None:
                self._stranger(child, key, name, above)
            elif child:
                self.value(child, expected, (*above, name))
        for key in entry["required"] if self.whole else ():
            if not node[key]:
                self.add("schema-broken", f"{name} needs the field {key}", node.path, remedy=f"add {key}")

    def value(self, node: Node, expected: str, above: tuple[str, ...]) -> None:
        """A value of any kind: list, mapping, type or scalar."""
        if node.unknown or not node:
            return
        if expected.startswith("[]"):
            if not node.is_list:
                self._mismatch(node, "a list")
                return
            for item in node.items():
                self.value(item, expected[2:], above)
        elif expected.startswith("map:"):
            if not isinstance(node.value, Mapping):
                self._mismatch(node, "a mapping")
                return
            for _, child in node.fields():
                self.value(child, expected[4:], above)
        elif expected in table("k8s_fields.json")["types"]:
            self.type(node, expected, above)
        else:
            self._scalar(node, expected)

    def _scalar(self, node: Node, expected: str) -> None:
        value = node.value
        if isinstance(value, str) and templated(value):
            return
        fits = {
            "string": isinstance(value, str),
            "boolean": isinstance(value, bool),
            "integer": isinstance(value, int | float) and not isinstance(value, bool),
            "number": isinstance(value, int | float) and not isinstance(value, bool),
            "intOrString": isinstance(value, int | str) and not isinstance(value, bool),
            "quantity": isinstance(value, int | float | str) and not isinstance(value, bool),
        }
        if not fits.get(expected, True):
            self._mismatch(node, _EXPECTED.get(expected, "a number or a text"))

    def _mismatch(self, node: Node, wanted: str) -> None:
        given = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false"}.get(type(node.value), "a number")
        text = f"{wanted} belongs here, {given} is given; the API server refuses the object"
        quoted = given in ("a number", "true or false") and wanted == "a text"
        self.add("schema-broken", text, node.path, repr(node.value), "put it in quotes" if quoted else f"give {wanted}")

    def _stranger(self, node: Node, key: str, name: str, above: tuple[str, ...]) -> None:
        """A field that its type does not have: misspelt, at home somewhere on the way, or of no type at all."""
        fields = table("k8s_fields.json")["types"][name]["fields"]
        close = next((field for field in fields if field.lower() == key.lower()), None)
        close = close or next(iter(get_close_matches(key, fields, 1, 0.84)), None)
        homes = _homes().get(key, ())
        near = next((home for home in (*reversed(above), *_below(name), *homes) if home in homes), None)
        if close and not near:
            self.add("schema-typo", f"{name} has no field {key}; {close} is meant", node.path, key, f"write {close}")
        elif near:
            text = f"{name} has no field {key}; it belongs to {near}, so it has no effect here"
            self.add("schema-misplaced", text, node.path, key, f"move {key} to {near}")
        else:
            self.add("schema-typo", f"{name} has no field {key}", node.path, key, f"remove {key} or correct its name")


@cache
def _below(name: str) -> tuple[str, ...]:
    kinds = table("k8s_fields.json")["types"][name]["fields"].values()
    return tuple(kind.removeprefix("[]").removeprefix("map:") for kind in kinds)


def _selector(root: Node, walker: _Walker) -> None:
    """The API server refuses a workload whose selector does not match its own template."""
    spec = root["spec"]
    wanted, labels = spec.at("selector", "matchLabels").texts(), spec.at("template", "metadata", "labels").texts()
    if root["kind"].string() not in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet") or not wanted:
        return
    wrong = [f"{key}={value}" for key, value in wanted.items() if labels.get(key) != value and not templated(value + labels.get(key, ""))]
    if wrong:
        text = f"the selector asks for {', '.join(wrong[:3])}, which the template's labels do not have; the API server refuses that"
        walker.add(
            "schema-broken",
            text,
            spec.at("selector", "matchLabels").path,
            ", ".join(wrong[:3]),
            "give selector and template the same labels",
        )


def _mounts(root: Node, walker: _Walker) -> None:
    """The API server refuses a mount of a volume that the pod does not have."""
    for pod in _pods(root):
        names = {volume["name"].string() for volume in pod["volumes"].items()}
        names |= {claim.at("metadata", "name").string() for claim in root.at("spec", "volumeClaimTemplates").items()}
        for container in [*pod["containers"].items(), *pod["initContainers"].items()]:
            for mount in container["volumeMounts"].items():
                name = mount["name"].string()
                if name and name not in names and not templated(name):
                    text = f"the pod has no volume {name}; the API server refuses that"
                    walker.add("schema-broken", text, mount["name"].path, name, f"add the volume {name}, or remove the mount")


def _pods(root: Node) -> Iterator[Node]:
    spec = root["spec"]
    for pod in (spec.at("template", "spec"), spec.at("jobTemplate", "spec", "template", "spec")):
        if pod.mapping:
            yield pod
    if root["kind"].string() == "Pod":
        yield spec
