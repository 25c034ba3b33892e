"""Custom resource definitions: the fields that they take (infra/catalog/crd_fields.json) and the rules that they state."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.mechanisms.rows import Condition

SCALARS = {"string": "string", "integer": "integer", "boolean": "boolean", "number": "number", "object": "any"}
BOUNDS = {"minimum": "<", "maximum": ">", "minLength": "is shorter than", "maxLength": "is longer than"}


def schema_of(path: Path) -> tuple[str, str, dict[str, Any]]:
    """API version, kind and schema of the newest served version. Raises LookupError."""
    crd = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    served = [each for each in crd["spec"]["versions"] if each["served"]]
    version = next((each for each in served if each["storage"]), served[-1])
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    return f"{group}/{version['name']}", kind, version["schema"]["openAPIV3Schema"]


def refusals(path: Path, file: str) -> Iterator[Condition]:
    """What the schema itself refuses beyond field names and types: rules in CEL, enumerations, bounds, patterns."""
    _, kind, schema = schema_of(path)
    yield from _walk(schema["properties"]["spec"], f"{kind}.spec", file)


def _walk(schema: Mapping[str, Any], at: str, file: str) -> Iterator[Condition]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield Condition(file, at, f"not ({' '.join(rule['rule'].split())})", str(rule.get("message", rule.get("messageExpression", ""))))
    if "enum" in schema:
        yield Condition(file, at, f"value not in {schema['enum']}", "")
    bounds = [f"value {words} {schema[key]}" for key, words in BOUNDS.items() if key in schema and not _a_type_bound(schema, key)]
    if bounds:
        yield Condition(file, at, " or ".join(bounds), "")
    if _is_pod(schema):
        return  # The API's own types: Kubernetes' validation covers them.
    for name, inner in schema.get("properties", {}).items():
        if name != "status":
            yield from _walk(inner, f"{at}.{name}", file)
    if isinstance(schema.get("items"), Mapping):
        yield from _walk(schema["items"], f"{at}[]", file)


def _a_type_bound(schema: Mapping[str, Any], key: str) -> bool:
    """The bounds of an int32 say nothing that the type does not."""
    return schema[key] in (2147483647, -2147483648)


def _is_pod(schema: Mapping[str, Any]) -> bool:
    return "containers" in schema.get("properties", {}) or {"labelSelector", "topologyKey"} <= set(schema.get("properties", {}))


def fields_of(path: Path) -> tuple[str, str, dict[str, dict[str, Any]]]:
    """``group/version/Kind``, name of the top type, and every type by name as in k8s_fields.json, with ``enums`` and ``bounds``."""
    version, kind, schema = schema_of(path)
    types: dict[str, dict[str, Any]] = {}
    _type(schema, kind, types)
    types[kind]["fields"] |= {"apiVersion": "string", "kind": "string", "metadata": "ObjectMeta"}
    return f"{version}/{kind}", kind, types


def _type(schema: Mapping[str, Any], name: str, types: dict[str, dict[str, Any]]) -> str:
    """The short form of a schema's type; an object with properties becomes a type of its own, called by its path."""
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "intOrString"
    if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
        return "any"
    kind = schema.get("type", "object")
    if kind == "array":
        return f"[]{_type(schema['items'], name, types)}"
    if kind == "object" and "properties" not in schema:
        inner = schema.get("additionalProperties")
        return f"map:{_type(inner, name, types)}" if isinstance(inner, Mapping) else "any"
    if kind != "object":
        return SCALARS.get(kind, "any")
    if _is_pod(schema) and "containers" in schema["properties"]:
        return "PodSpec"
    # What has a default is filled in before it is required.
    required = sorted(field for field in schema.get("required", ()) if "default" not in schema["properties"].get(field, {}))
    entry: dict[str, Any] = {"fields": {}, "required": required}
    types[name] = entry
    for field, inner in schema["properties"].items():
        meta = field == "metadata" and "additionalProperties" not in inner
        entry["fields"][field] = "ObjectMeta" if meta else _type(inner, f"{name}.{field}", types)
        _limits(entry, field, inner)
    return name


def _limits(entry: dict[str, Any], field: str, schema: Mapping[str, Any]) -> None:
    """Values that a scalar (or the items of a list) may have, and its bounds."""
    own = schema.get("items", schema) if schema.get("type") == "array" else schema
    if "enum" in own:
        entry.setdefault("enums", {})[field] = [value for value in own["enum"] if value != ""]
    bounds = {key: own[key] for key in BOUNDS if key in own and not _a_type_bound(own, key)}
    if bounds:
        entry.setdefault("bounds", {})[field] = bounds
