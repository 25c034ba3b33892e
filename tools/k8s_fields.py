"""Writes the fields of the Kubernetes kinds that the checker knows: infra/catalog/k8s_fields.json.

usage: python -m tools.k8s_fields

Read from the API's own schemas as kubernetes-validate carries them; only types reachable from the kinds named here are kept.
"""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import kubernetes_validate

from tools.common import ROOT, run_main, say
from tools.datafile import written

VERSION = "v1.37.0"
KINDS = (
    ("apps/v1", "io.k8s.api.apps.v1", ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
    ("batch/v1", "io.k8s.api.batch.v1", ("Job", "CronJob")),
    ("v1", "io.k8s.api.core.v1", ("Pod", "Service", "ConfigMap", "Secret", "PersistentVolumeClaim", "PersistentVolume", "ResourceQuota")),
    ("autoscaling/v2", "io.k8s.api.autoscaling.v2", ("HorizontalPodAutoscaler",)),
    ("policy/v1", "io.k8s.api.policy.v1", ("PodDisruptionBudget",)),
    ("networking.k8s.io/v1", "io.k8s.api.networking.v1", ("Ingress", "NetworkPolicy")),
)
SCALARS = {"string": "string", "integer": "integer", "boolean": "boolean", "number": "number", "object": "any"}


def definitions() -> dict[str, Any]:
    """All types of the API by their full name."""
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"{VERSION}-local-strict"
    loaded: dict[str, Any] = json.loads((folder / "_definitions.json").read_text())["$defs"]
    return loaded


def kind_of(schema: dict[str, Any]) -> str:
    """A field's type in short: a scalar, ``[]T``, ``map:T``, the name of a type, or ``any``."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    types = schema.get("type", "object")
    types = [name for name in (types if isinstance(types, list) else [types]) if name != "null"]
    if types == ["array"]:
        return f"[]{kind_of(schema['items'])}"
    if types == ["object"] and isinstance(schema.get("additionalProperties"), dict):
        return f"map:{kind_of(schema['additionalProperties'])}"
    return SCALARS[types[0]] if len(types) == 1 else "any"


def collect(name: str, all_types: dict[str, Any], found: dict[str, Any]) -> None:
    """``name`` and everything its fields refer to."""
    base = name.removeprefix("[]").removeprefix("map:").removeprefix("[]")
    if base in found or base not in all_types or "properties" not in all_types[base]:
        return
    schema = all_types[base]
    found[base] = {"fields": {}, "required": sorted(schema.get("required", ()))}
    for field, inner in schema["properties"].items():
        found[base]["fields"][field] = kind_of(inner)
        collect(found[base]["fields"][field], all_types, found)


def short(types: dict[str, Any]) -> dict[str, Any]:
    """The same table under short names, which are unique among the kinds kept."""
    special = {"Quantity": "quantity", "IntOrString": "intOrString", "Time": "string", "MicroTime": "string"}

    def named(text: str) -> str:
        prefix = "[]" if text.startswith("[]") else "map:" if text.startswith("map:") else ""
        rest = text.removeprefix(prefix)
        last = rest.rsplit(".", 1)[-1]
        return prefix + (special.get(last) or (last if rest in types or "." not in rest else "any"))

    table = {}
    for name, entry in types.items():
        fields = {field: named(kind) for field, kind in entry["fields"].items()}
        key = name.rsplit(".", 1)[-1]
        assert key not in table, f"two types are called {key}"
        table[key] = {"fields": fields, "required": entry["required"]}
    return table


def main(args: list[str]) -> int:
    """Entry point."""
    all_types = definitions()
    found: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    for version, package, names in KINDS:
        for name in names:
            collect(f"{package}.{name}", all_types, found)
            kinds[f"{version}/{name}"] = name
    found.pop("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", None)
    path = ROOT / "infra" / "catalog" / "k8s_fields.json"
    source = f"Kubernetes {VERSION} OpenAPI, as kubernetes-validate carries it (tools/k8s_fields.py)"
    whole = {"source": source, "date": dt.date.today().isoformat(), "kinds": kinds, "types": short(found)}
    path.write_text(written(json.loads(json.dumps(whole, sort_keys=True))) + "\n")
    say(f"{path.relative_to(ROOT)}: {len(found)} types, {path.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    run_main(main)
