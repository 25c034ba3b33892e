"""Reads what a plan is held against: nodes and what pods of others hold, kinds, names, quotas."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from interlock.infra.manifests.placed import Manifest
from interlock.infra.manifests.references import references
from interlock.infra.preview.standing import ClusterState, NodeState, own
from interlock.infra.values import quantity
from interlock.stacks.api import Reader, RefusedError

PATHS: Mapping[str, str] = {
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses/{name}",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses/{name}",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses/{name}",
    "IngressClass": "/apis/networking.k8s.io/v1/ingressclasses/{name}",
    "Gateway": "/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/gateways/{name}",
    "Secret": "/api/v1/namespaces/{namespace}/secrets/{name}",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps/{name}",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts/{name}",
    "PersistentVolumeClaim": "/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}",
}
"""Where each kind that an object may name is read."""


def cluster_state(api: Reader, stack: str, namespace: str, objects: Sequence[Manifest]) -> ClusterState:
    """What is there, for ``differences_of``. What may not be read is left out and named. Raises ApiError where nothing answers."""
    unread = dict[str, str]()
    served = _served(api, objects, unread)
    there = {(kind, space, name): _there(api, kind, space, name, unread) for kind, space, name, _ in references(objects) if kind in PATHS}
    known = {key: found for key, found in there.items() if f"{key[0]}/{key[2]}" not in unread}
    return ClusterState(_nodes(api, stack, unread), served, known, _quotas(api, stack, namespace, unread), unread)


def _served(api: Reader, objects: Sequence[Manifest], unread: dict[str, str]) -> frozenset[tuple[str, str]]:
    """The kinds of the groups that the objects are of, in every version that is served."""
    found = set[tuple[str, str]]()
    groups = {each["apiVersion"].partition("/")[0] for each in objects if "/" in each["apiVersion"]}
    paths = [("v1", "/api/v1")]
    try:
        listed = [each for each in api.get("/apis")["groups"] if each["name"] in groups]
        versions = [each["groupVersion"] for group in listed for each in group["versions"]]
        paths += [(version, f"/apis/{version}") for version in versions]
        for version, path in paths:
            found |= {(version, each["kind"]) for each in api.get(path).get("resources", ())}
    except RefusedError as error:
        unread |= {each["kind"]: f"kinds cannot be listed: {error}" for each in objects}
    return frozenset(found)


def _there(api: Reader, kind: str, namespace: str, name: str, unread: dict[str, str]) -> Any:
    try:
        return api.get(PATHS[kind].format(namespace=namespace or "default", name=name))
    except RefusedError as error:
        if error.status != 404:
            unread[f"{kind}/{name}"] = str(error)
    return None


def _nodes(api: Reader, stack: str, unread: dict[str, str]) -> tuple[NodeState, ...]:
    try:
        nodes = api.get("/api/v1/nodes")["items"]
        pods = api.get("/api/v1/pods", fieldSelector="spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed")["items"]
    except RefusedError as error:
        unread["nodes"] = f"nodes and pods cannot be listed: {error}"
        return ()
    held: dict[str, Counter[str]] = {}
    for pod in pods:
        if not own(pod, stack):
            held.setdefault(pod["spec"]["nodeName"], Counter()).update(_units(pod["spec"]))
    return tuple(_node(node, held.get(node["metadata"]["name"], {})) for node in nodes)


def _units(spec: Mapping[str, Any]) -> Counter[str]:
    """Units of extended resources that a pod holds: the sum of its containers, or what one init container asks for where that is more."""
    running, before = Counter[str](), Counter[str]()
    for container in spec.get("containers", ()):
        running += _asked(container)
    for container in spec.get("initContainers", ()):
        before |= _asked(container)
    return running | before


def _asked(container: Mapping[str, Any]) -> Counter[str]:
    limits = (container.get("resources") or {}).get("limits") or {}
    return Counter({name: int(quantity(amount)) for name, amount in limits.items() if "/" in name and not name.startswith("hugepages")})


def _node(node: Mapping[str, Any], used: Mapping[str, int]) -> NodeState:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    taints = tuple((each["key"], each.get("value") or "", each["effect"]) for each in spec.get("taints") or ())
    return NodeState(
        node["metadata"]["name"],
        node["metadata"].get("labels") or {},
        taints,
        status.get("allocatable") or {},
        dict(used),
        conditions.get("Ready", "True") == "True",
        bool(spec.get("unschedulable")),
    )


def _quotas(
    api: Reader, stack: str, namespace: str, unread: dict[str, str]
) -> tuple[tuple[str, Mapping[str, str], Mapping[str, str]], ...]:
    """The quotas of the namespace, with what pods of others in it use."""
    try:
        items = api.get(f"/api/v1/namespaces/{namespace}/resourcequotas")["items"]
        pods = api.get(f"/api/v1/namespaces/{namespace}/pods")["items"] if items else []
    except RefusedError as error:
        if error.status != 404:
            unread["quotas"] = str(error)
        return ()
    others = Counter[str]()
    for pod in pods:
        others += _units(pod["spec"]) if not own(pod, stack) else Counter()
    used = {f"requests.{name}": str(units) for name, units in others.items()}
    return tuple((each["metadata"]["name"], (each.get("spec") or {}).get("hard") or {}, used) for each in items)
