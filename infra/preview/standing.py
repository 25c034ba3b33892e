"""A plan held against the cluster that it meets: each difference is a finding with its fix.

Pods are taken from the objects as they are rendered, so that patches and what others add count; nodes, kinds and names from the cluster.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.infra.catalog.gpus import gpu
from interlock.infra.facts.room import Pods, unplaced
from interlock.infra.manifests.placed import Manifest
from interlock.infra.manifests.references import pods_of, references
from interlock.infra.naming import label
from interlock.infra.plan.types import ClusterPlan, PlannedPool, PlannedServer
from interlock.infra.rules.findings import Finding, Severity, Subject
from interlock.infra.values import plural, quantity, some

OURS = "existing"
"""Backend of pools whose nodes must be there; the others make theirs when pods wait."""
MAKERS: Mapping[str, str] = {
    "keda.sh": "install KEDA",
    "gateway.networking.k8s.io": "install the CRDs of the Gateway API and a gateway controller",
    "leaderworkerset.x-k8s.io": "install LeaderWorkerSet",
    "ray.io": "install KubeRay",
    "monitoring.coreos.com": "install the Prometheus operator",
    "karpenter.sh": "install Karpenter",
    "resource.k8s.io": "dynamic resource allocation needs Kubernetes 1.34 or newer",
    "inference.networking.k8s.io": "install the Gateway API Inference Extension",
}
"""By API group: what brings its kinds."""
PRODUCT = "nvidia.com/gpu.product"


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node as it is."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[tuple[str, str, str], ...]
    """(key, value, effect)."""
    allocatable: Mapping[str, str]
    used: Mapping[str, int] = field(default_factory=dict)
    """Units of extended resources that pods of others hold there."""
    ready: bool = True
    cordoned: bool = False


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What is there. What could not be read is in ``unread`` and nothing is said about it."""

    nodes: tuple[NodeState, ...]
    served: frozenset[tuple[str, str]]
    """(apiVersion, kind) that the API server serves."""
    there: Mapping[tuple[str, str, str], Any]
    """(kind, namespace or empty, name) to the object, for each that was looked for; None where it is not there."""
    quotas: tuple[tuple[str, Mapping[str, str], Mapping[str, str]], ...] = ()
    """(name, hard, used by others) of the namespace's quotas."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """``nodes``, ``quotas`` or ``Kind/name`` to the reason."""


CODES: Mapping[str, str] = {
    "CLU-001": "A kind that is rendered is not served by the cluster.",
    "CLU-002": "A pool has fewer nodes than planned.",
    "CLU-003": "A node offers fewer units of the GPU resource than planned.",
    "CLU-004": "A node of the pool has a taint that the pods do not tolerate.",
    "CLU-005": "Pods find no node with enough free units.",
    "CLU-006": "A node has another GPU than the pool states.",
    "CLU-007": "Something that an object names is not there.",
    "CLU-008": "A quota of the namespace does not hold the pods.",
    "CLU-009": "A listener that a route attaches to is not at its gateway.",
    "CLU-010": "Nodes of the pool are not ready, or are cordoned.",
}
"""What each difference is."""


def differences_of(plan: ClusterPlan, objects: Sequence[Manifest], state: ClusterState) -> tuple[Finding, ...]:
    """Everything in which the cluster is not as the plan takes it to be."""
    found = [*_kinds(objects, state), *_names(objects, state), *_listeners(objects, state), *_quota(plan, state)]
    if "nodes" not in state.unread:
        found += [each for pool in plan.pools if pool.backend == OURS for each in _pool(plan, pool, objects, state)]
    return tuple(found)


def _finding(code: str, path: str, summary: str, remedy: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        code=code, severity=severity, path=path, summary=summary, detail=CODES[code], remedy=remedy, subject=Subject(kind="Cluster")
    )


def _kinds(objects: Sequence[Manifest], state: ClusterState) -> Iterator[Finding]:
    for version, kind in dict.fromkeys((each["apiVersion"], each["kind"]) for each in objects):
        if (version, kind) in state.served or kind in state.unread:
            continue
        group = version.partition("/")[0] if "/" in version else ""
        others = sorted(each for each, name in state.served if name == kind and each.partition("/")[0] == group)
        users = [each["metadata"]["name"] for each in objects if (each["apiVersion"], each["kind"]) == (version, kind)]
        served = f", only {', '.join(others)}" if others else ""
        remedy = "upgrade what serves it" if others else MAKERS.get(group, f"install what serves {group or 'it'}")
        yield _finding("CLU-001", f"{kind}/{users[0]}", f"the cluster does not serve {version} {kind}{served}", remedy)


def _names(objects: Sequence[Manifest], state: ClusterState) -> Iterator[Finding]:
    told = set[tuple[str, str, str]]()
    for kind, namespace, name, by in references(objects):
        key = (kind, namespace, name)
        if key in told or key not in state.there or state.there[key] is not None:
            continue
        told.add(key)
        where = f" in namespace {namespace}" if namespace else ""
        yield _finding("CLU-007", by, f"{kind} {name} is not there{where}", f"make {kind} {name}{where}, or name one that is there")


def _listeners(objects: Sequence[Manifest], state: ClusterState) -> Iterator[Finding]:
    for route in objects:
        for parent in (route.get("spec") or {}).get("parentRefs", ()) if route["kind"] == "HTTPRoute" else ():
            section = parent.get("sectionName")
            space = parent.get("namespace") or route["metadata"].get("namespace") or ""
            gateway = state.there.get(("Gateway", space, parent["name"]))
            if not section or not gateway:
                continue
            names = [each["name"] for each in (gateway.get("spec") or {}).get("listeners", ())]
            if section not in names:
                summary = f"Gateway {space}/{parent['name']} has no listener {section}; it has {', '.join(names) or 'none'}"
                path = f"HTTPRoute/{route['metadata']['name']}"
                yield _finding("CLU-009", path, summary, "name one of them in route.listener, or add it to the gateway")


def _quota(plan: ClusterPlan, state: ClusterState) -> Iterator[Finding]:
    asked = Counter[str]()
    for server in plan.servers:
        asked[f"requests.{server.resource}"] += server.gpus * server.max_replicas
    for name, hard, used in state.quotas:
        for resource, units in asked.items():
            if resource in hard:
                left = int(quantity(hard[resource])) - int(quantity(used.get(resource, "0")))
                if units > left:
                    summary = f"quota {name} leaves {left} of {hard[resource]} {resource} to this stack, and its servers ask for {units}"
                    yield _finding("CLU-008", "servers", summary, f"raise the quota to {units}, or plan fewer replicas")


def _pool(plan: ClusterPlan, pool: PlannedPool, objects: Sequence[Manifest], state: ClusterState) -> Iterator[Finding]:
    path = f"pools[{pool.index}]"
    mine = [node for node in state.nodes if pool.selector.items() <= node.labels.items()]
    yield from _count(pool, path, mine)
    yield from _cards(pool, path, mine)
    if pool.allocation != "device-plugin":
        return
    usable = list(mine)
    for server in (each for each in plan.servers if each.pool == pool.name):
        barred = {node.name: taint for node in mine if (taint := _barred(node, server, objects))}
        if barred:
            first = next(iter(barred))
            summary = (
                f"{plural(len(barred), 'node')} of pool {pool.name} ({some(barred)}) bar the pods of {server.name}: taint {barred[first]}"
            )
            yield _finding("CLU-004", path, summary, f"add it to taints of pool {pool.name}, or remove it from the nodes")
            usable = [node for node in usable if node.name not in barred]
    yield from _room(plan, pool, path, usable)


def _count(pool: PlannedPool, path: str, mine: Sequence[NodeState]) -> Iterator[Finding]:
    wanted = ", ".join(f"{key}={value}" for key, value in pool.selector.items())
    if len(mine) < pool.nodes:
        summary = f"pool {pool.name} has {plural(len(mine), 'node')} with {wanted}, planned are {pool.nodes}"
        severity = Severity.WARNING if mine else Severity.ERROR
        yield _finding("CLU-002", f"{path}.nodes", summary, "label the nodes that belong to it, or set nodes to what is there", severity)
    away = {node.name: "not ready" if not node.ready else "cordoned" for node in mine if node.cordoned or not node.ready}
    if away:
        summary = f"{plural(len(away), 'node')} of pool {pool.name} take no pods: {some(f'{name} is {why}' for name, why in away.items())}"
        yield _finding("CLU-010", path, summary, "uncordon or mend them (kubectl describe node)", Severity.WARNING)


def _cards(pool: PlannedPool, path: str, mine: Sequence[NodeState]) -> Iterator[Finding]:
    products = {node.name: node.labels[PRODUCT] for node in mine if PRODUCT in node.labels}
    wrong = {name: product for name, product in products.items() if _other(product, pool.gpu)}
    if wrong:
        first = next(iter(wrong.values()))
        summary = f"pool {pool.name} states {pool.gpu}, and {plural(len(wrong), 'node')} ({some(wrong)}) have {first}"
        yield _finding("CLU-006", f"{path}.gpu", summary, "state the card that is there, or label other nodes for the pool")
    if pool.allocation != "device-plugin":
        return
    short = {node.name: units for node in mine if (units := _units(node, pool.resource)) < pool.units_per_node}
    if short:
        least, which = min(short.values()), f"{plural(len(short), 'node')} of pool {pool.name} ({some(short)})"
        summary = f"{which} offer {least} {pool.resource}, planned are {pool.units_per_node}"
        remedy = "look at the device plugin there (its pods, its config, the driver)" if least == 0 else "state what the nodes offer"
        yield _finding("CLU-003", f"{path}.gpus_per_node", summary, remedy)


def _other(product: str, stated: str) -> bool:
    """Whether a product label is of another card; one that the catalog does not know says nothing."""
    there, wanted = gpu(product.removesuffix("-SHARED")), gpu(stated)
    return there is not None and wanted is not None and there.name != wanted.name


def _units(node: NodeState, resource: str) -> int:
    return int(quantity(node.allocatable.get(resource, "0")))


def _barred(node: NodeState, server: PlannedServer, objects: Sequence[Manifest]) -> str:
    """The first taint of a node that keeps the pods of a server away; empty for none."""
    kinds = [each for each in objects if each["kind"] == server.workload[1] and each["metadata"]["name"] == server.name]
    tolerations = [pod.get("tolerations", ()) for each in kinds for pod in pods_of(each)]
    for key, value, effect in node.taints:
        # A cordon is told as such, and a node that is not ready too.
        if effect == "PreferNoSchedule" or key.startswith("node.kubernetes.io/"):
            continue
        if any(not any(_tolerates(each, key, value, effect) for each in given) for given in tolerations):
            return f"{key}={value}:{effect}" if value else f"{key}:{effect}"
    return ""


def _tolerates(toleration: Mapping[str, Any], key: str, value: str, effect: str) -> bool:
    if toleration.get("effect") not in (None, "", effect) or toleration.get("key") not in (None, "", key):
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("key") == key and (toleration.get("value") or "") == value)


def _room(plan: ClusterPlan, pool: PlannedPool, path: str, usable: Sequence[NodeState]) -> Iterator[Finding]:
    awake = [node for node in usable if node.ready and not node.cordoned]
    free = Counter(max(0, _units(node, pool.resource) - node.used.get(pool.resource, 0)) for node in awake)
    pods = [
        Pods(part.gpus, server.name, server.max_replicas * part.count)
        for server in plan.servers
        if server.pool == pool.name
        for part in server.pods
        if part.gpus
    ]
    left = unplaced(pods, free)
    if left:
        held = sum(node.used.get(pool.resource, 0) for node in awake)
        units = sum(units * count for units, count in free.items())
        whose = f"; pods of others hold {held}" if held else ""
        free_now = f"{plural(units, 'unit')} of {pool.resource} are free"
        summary = f"{plural(left, 'pod')} of pool {pool.name} find no node: {free_now}, {pool.asked} are asked for{whose}"
        yield _finding("CLU-005", path, summary, "free nodes, add some, or plan fewer replicas")


def own(pod: Mapping[str, Any], stack: str) -> bool:
    """Whether a pod belongs to the stack: what it holds is planned already."""
    labels: Mapping[str, str] = (pod.get("metadata") or {}).get("labels") or {}
    return labels.get(label("stack")) == stack
