"""The role that deploys a stack: what the stack's kinds of objects need, in its own namespace, and nothing else.

An administrator applies these objects once; everything after that is done as the service account ``interlock-deployer``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.platform import platform_objects
from interlock.infra.manifests.render import namespace_object, render
from interlock.infra.naming import joined, label
from interlock.infra.plan.types import ClusterPlan

NAME = "interlock-deployer"
RBAC = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
MANAGE = (*READ, "create", "update", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Kind:
    """How RBAC names a kind."""

    group: str
    plural: str
    namespaced: bool = True


KINDS = {
    "ConfigMap": Kind("", "configmaps"),
    "LimitRange": Kind("", "limitranges"),
    "Namespace": Kind("", "namespaces", namespaced=False),
    "Node": Kind("", "nodes", namespaced=False),
    "PersistentVolume": Kind("", "persistentvolumes", namespaced=False),
    "PersistentVolumeClaim": Kind("", "persistentvolumeclaims"),
    "ResourceQuota": Kind("", "resourcequotas"),
    "Service": Kind("", "services"),
    "ServiceAccount": Kind("", "serviceaccounts"),
    "DaemonSet": Kind("apps", "daemonsets"),
    "Deployment": Kind("apps", "deployments"),
    "HorizontalPodAutoscaler": Kind("autoscaling", "horizontalpodautoscalers"),
    "Job": Kind("batch", "jobs"),
    "HTTPRoute": Kind("gateway.networking.k8s.io", "httproutes"),
    "NodePool": Kind("karpenter.sh", "nodepools", namespaced=False),
    "ScaledObject": Kind("keda.sh", "scaledobjects"),
    "Ingress": Kind("networking.k8s.io", "ingresses"),
    "RuntimeClass": Kind("node.k8s.io", "runtimeclasses", namespaced=False),
    "PodDisruptionBudget": Kind("policy", "poddisruptionbudgets"),
    "ClusterRole": Kind(RBAC, "clusterroles", namespaced=False),
    "ClusterRoleBinding": Kind(RBAC, "clusterrolebindings", namespaced=False),
    "DeviceClass": Kind("resource.k8s.io", "deviceclasses", namespaced=False),
    "ResourceClaimTemplate": Kind("resource.k8s.io", "resourceclaimtemplates"),
    "PriorityClass": Kind("scheduling.k8s.io", "priorityclasses", namespaced=False),
    "StorageClass": Kind("storage.k8s.io", "storageclasses", namespaced=False),
}
"""Every kind that a stack may make."""

SERVING = (
    "ConfigMap",
    "PersistentVolumeClaim",
    "Service",
    "DaemonSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "Job",
    "HTTPRoute",
    "ScaledObject",
    "Ingress",
    "PodDisruptionBudget",
    "ResourceClaimTemplate",
)
"""Kinds in the namespace of a serving stack, whether the present config asks for them or not: a later change needs no new role."""

# Pulumi's Kubernetes provider watches these until a workload is up.
WATCHED = (("", ("endpoints", "events", "pods")), ("apps", ("replicasets",)), ("discovery.k8s.io", ("endpointslices",)))


def deployer_objects(config: ClusterConfig, plan: ClusterPlan) -> list[Manifest]:
    """Namespace, service account, roles and bindings. Raises ConfigError when the stack makes the namespace itself."""
    if config.scope is not Scope.PLATFORM and config.create_namespace:
        why = f"the role is bound inside {config.namespace!r}, so the namespace comes first: set create_namespace: false"
        raise ConfigError([Problem("create_namespace", why)])
    space = config.namespace
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): plan.stack}
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": space}
    roles = [manifest(f"{RBAC}/v1", "ClusterRole", joined(NAME, plan.stack), None, names, rules=cluster_rules(config, plan))]
    if config.scope is not Scope.PLATFORM:
        roles.append(manifest(f"{RBAC}/v1", "Role", NAME, space, names, rules=namespace_rules()))
    bindings = [
        {
            "apiVersion": role["apiVersion"],
            "kind": f"{role['kind']}Binding",
            "metadata": role["metadata"],
            "roleRef": {"apiGroup": RBAC, "kind": role["kind"], "name": role["metadata"]["name"]},
            "subjects": [account],
        }
        for role in roles
    ]
    return [namespace_object(config, plan.stack), manifest("v1", "ServiceAccount", NAME, space, names), *roles, *bindings]


def namespace_rules() -> list[dict[str, Any]]:
    """What a serving stack needs inside its namespace: its own kinds, and to see pods come up. No Secrets, no pods of its own."""
    watched = [_rule(group, plurals, READ) for group, plurals in WATCHED]
    return [*_managed(KINDS[kind] for kind in SERVING), *watched]


def cluster_rules(config: ClusterConfig, plan: ClusterPlan) -> list[dict[str, Any]]:
    """What the stack needs outside its namespace: to know which cluster this is, and its cluster-wide objects by name."""
    # The UID of kube-system identifies the cluster; the labels of the namespace say whose it is.
    rules = [_rule("", ("namespaces",), ("get",), tuple(sorted({config.namespace, "kube-system"})))]
    rules += _named(render(config, plan))
    if config.scope is not Scope.SERVING:
        # Whether a change of how cards are shared meets nodes in use is asked before it is made.
        rules.append(_rule("", ("nodes", "pods"), READ))
        platform = platform_objects(config, plan.stack)
        outside = {made["kind"] for made in platform if KINDS[made["kind"]].namespaced}
        if outside:
            rules += [*_managed(KINDS[kind] for kind in sorted(outside)), *(_rule(group, plurals, READ) for group, plurals in WATCHED)]
        # Kubernetes lets nobody hand out rights that he does not have.
        rules += [rule for made in platform for rule in made.get("rules", ()) if made["kind"] == "ClusterRole"]
    return rules


def _named(objects: Sequence[Manifest]) -> Iterator[dict[str, Any]]:
    """Rights on cluster-wide objects, by name where RBAC knows the name: a create has none yet."""
    for kind in sorted({made["kind"] for made in objects if not KINDS[made["kind"]].namespaced}):
        names = sorted(made["metadata"]["name"] for made in objects if made["kind"] == kind)
        known = KINDS[kind]
        if kind != "Node":
            yield _rule(known.group, (known.plural,), ("create",))
        changes = tuple(verb for verb in MANAGE if verb != "create" and not (kind == "Node" and verb == "delete"))
        yield _rule(known.group, (known.plural,), changes, tuple(names))


def _managed(kinds: Iterable[Kind]) -> list[dict[str, Any]]:
    by_group: dict[str, list[str]] = {}
    for kind in kinds:
        by_group.setdefault(kind.group, []).append(kind.plural)
    return [_rule(group, tuple(sorted(plurals)), MANAGE) for group, plurals in sorted(by_group.items())]


def _rule(group: str, plurals: tuple[str, ...], verbs: tuple[str, ...], names: tuple[str, ...] = ()) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": list(plurals), "verbs": list(verbs)}
    return rule | {"resourceNames": list(names)} if names else rule
