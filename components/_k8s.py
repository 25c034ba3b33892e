"""The only place where a plain manifest becomes a Pulumi resource."""

import importlib
import re
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

# (group without its domain, version) of the SDK's typed modules; everything else is a custom resource.
_TYPED_GROUPS = {
    "": "core",
    "apps": "apps",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "networking.k8s.io": "networking",
    "node.k8s.io": "node",
    "policy": "policy",
    "rbac.authorization.k8s.io": "rbac",
    "resource.k8s.io": "resource",
    "scheduling.k8s.io": "scheduling",
    "storage.k8s.io": "storage",
}
# The oldest supported SDK lacks these versions of a typed group.
_UNTYPED = frozenset({"resource.k8s.io/v1"})


def apply(name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Registers ``manifest`` (camelCase) under the logical ``name``. Inputs may stand anywhere in it."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    body = {_snake(key): value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    module = _TYPED_GROUPS.get(group)
    if module is None or manifest["apiVersion"] in _UNTYPED:
        return CustomResource(name, api_version=manifest["apiVersion"], kind=manifest["kind"], opts=opts, **_camel_body(manifest))
    typed = getattr(importlib.import_module(f"pulumi_kubernetes.{module}.{version}"), manifest["kind"])
    made: pulumi.Resource = typed(name, opts=opts, **body)
    return made


def _camel_body(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", key).lower()
