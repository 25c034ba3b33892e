"""The only place where a plain manifest becomes a Pulumi resource."""

import importlib
import re
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource

from interlock.infra.config.stores import Keep

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

# The provider waits for kinds that it knows; for others, and where its waiting is wrong, it does what these annotations say.
# A claim may bind only when its first pod is scheduled, and that pod's Deployment comes after the claim.
_AWAIT = {
    "Gateway": {"pulumi.com/waitFor": "condition=Programmed"},
    "HTTPRoute": {"pulumi.com/waitFor": 'jsonpath={.status.parents[*].conditions[?(@.type=="Accepted")].status}=True'},
    "PersistentVolumeClaim": {"pulumi.com/skipAwait": "true"},
    "ScaledObject": {"pulumi.com/waitFor": "condition=Ready"},
}


def apply(name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Registers ``manifest`` (camelCase) under the logical ``name``. Inputs may stand anywhere in it.

    A Node is patched: its other fields belong to whoever made it.
    """
    group, _, version = manifest["apiVersion"].rpartition("/")
    body = _awaited(manifest)
    module = _TYPED_GROUPS.get(group)
    if module is None or manifest["apiVersion"] in _UNTYPED:
        return CustomResource(name, api_version=manifest["apiVersion"], kind=manifest["kind"], opts=opts, **body)
    kind = "NodePatch" if manifest["kind"] == "Node" else manifest["kind"]
    typed = getattr(importlib.import_module(f"pulumi_kubernetes.{module}.{version}"), kind)
    made: pulumi.Resource = typed(name, opts=opts, **{_snake(key): value for key, value in body.items()})
    return made


def kept(keep: Keep) -> bool:
    """Whether a destroy leaves the object in the cluster."""
    return keep is not Keep.DELETE


def protected(keep: Keep) -> bool:
    """Whether a destroy is refused, or passes the object over with --exclude-protected."""
    return keep is Keep.PROTECT


def _awaited(manifest: Mapping[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    how = _AWAIT.get(manifest["kind"])
    if how is None:
        return body
    metadata = manifest["metadata"]
    annotations = how | metadata.get("annotations", {})
    return body | {"metadata": {**metadata, "annotations": annotations}}


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", key).lower()
