"""Pulumi resources to documents: what a Kubernetes resource's properties say, with ``UNKNOWN`` for what preview cannot know."""

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from interlock.infra.recognise import UNKNOWN, Document

PREFIX = "kubernetes:"
CORE = "core/"
RELEASES = frozenset({"kubernetes:helm.sh/v3:Release"})
"""Resources whose objects are made behind the engine's back: what a chart is given is all that can be judged."""


def document(resource_type: str, properties: Mapping[str, Any], urn: str) -> Document | None:
    """The object that a resource stands for, its URN as the file; None for what is not an object of Kubernetes, or only a patch of one.

    A Helm release stands for its chart's values.
    """
    if resource_type in RELEASES:
        return Document(plain(properties).get("values"), urn, path="values")
    api_version, kind = kubernetes_type(resource_type)
    if not api_version or kind.endswith(("Patch", "List")):
        return None
    data = plain(properties)
    # A Pulumi program may leave both out: the type says them.
    return Document({"apiVersion": api_version, "kind": kind} | data, urn)


def kubernetes_type(resource_type: str) -> tuple[str, str]:
    """``kubernetes:apps/v1:Deployment`` as ``("apps/v1", "Deployment")``; empty for other packages, the provider and charts."""
    package, _, rest = resource_type.partition(":")
    api_version, _, kind = rest.rpartition(":")
    if f"{package}:" != PREFIX or "/" not in api_version or api_version.startswith(("helm.sh/", "yaml/", "kustomize/")):
        return "", ""
    return api_version.removeprefix(CORE), kind


def plain(value: Any) -> Any:
    """``value`` as plain dicts and lists. The SDK's views raise for a value that is not known yet; that place becomes ``UNKNOWN``.

    Numbers travel as floats: a whole one is an integer again.
    """
    if isinstance(value, Mapping):
        return {str(key): _item(value, key) for key in value if not str(key).startswith("__")}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_item(value, index) for index in range(len(value))]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _item(holder: Any, key: Any) -> Any:
    try:
        return plain(holder[key])
    except UnknownValueError:
        return UNKNOWN
