"""What objects name that another party makes, and the pods that they describe."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from interlock.infra.manifests.placed import Manifest, identity
from interlock.infra.manifests.templates import templates


def references(objects: Iterable[Manifest]) -> Iterator[tuple[str, str, str, str]]:
    """(kind, namespace, name, named by) of everything that an object names and another party makes."""
    listed = list(objects)
    made = set(map(identity, listed))
    for each in listed:
        own, space, called = identity(each)
        for kind, namespace, name in dict.fromkeys(_named(each, space)):
            if name and (kind, namespace, name) not in made:
                yield kind, namespace, name, f"{own}/{called}"


def _named(each: Manifest, space: str) -> Iterator[tuple[str, str, str]]:
    spec = each.get("spec") or {}
    if each["kind"] == "PersistentVolumeClaim":
        yield "StorageClass", "", spec.get("storageClassName") or ""
    if each["kind"] == "HTTPRoute":
        yield from (("Gateway", parent.get("namespace") or space, parent["name"]) for parent in spec.get("parentRefs", ()))
    if each["kind"] == "Ingress":
        yield "IngressClass", "", spec.get("ingressClassName") or ""
        yield from (("Secret", space, tls.get("secretName") or "") for tls in spec.get("tls", ()))
    for pod in pods_of(each):
        yield from _of_pod(pod, space)


def _of_pod(pod: Mapping[str, Any], space: str) -> Iterator[tuple[str, str, str]]:
    yield "PriorityClass", "", pod.get("priorityClassName") or ""
    yield "RuntimeClass", "", pod.get("runtimeClassName") or ""
    yield "ServiceAccount", space, pod.get("serviceAccountName") or ""
    yield from (("Secret", space, each["name"]) for each in pod.get("imagePullSecrets", ()))
    for volume in pod.get("volumes", ()):
        for key, kind, name in (
            ("secret", "Secret", "secretName"),
            ("configMap", "ConfigMap", "name"),
            ("persistentVolumeClaim", "PersistentVolumeClaim", "claimName"),
        ):
            source = volume.get(key)
            if source and not source.get("optional"):
                yield kind, space, source.get(name) or ""
    for container in (*pod.get("initContainers", ()), *pod.get("containers", ())):
        for variable in container.get("env", ()):
            for key, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                source = (variable.get("valueFrom") or {}).get(key)
                if source and not source.get("optional"):
                    yield kind, space, source["name"]


def pods_of(made: Manifest) -> Iterator[Mapping[str, Any]]:
    """The pod specs that an object describes."""
    return (template["spec"] for _, template in templates(made))
