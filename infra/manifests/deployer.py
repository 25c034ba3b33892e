"""The role that deploys a stack: what the stack's kinds of objects need, in its own namespace, and nothing else.

An administrator applies these objects once; everything after that is done as the service account ``interlock-deployer``.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from interlock.infra.catalog.kinds import Kind, Maker, kind_of_object, kinds
from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.access import keys_objects
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.namespace import namespace_object
from interlock.infra.manifests.render import platform_objects, render
from interlock.infra.naming import joined, label
from interlock.infra.plan.types import ClusterPlan

NAME = "interlock-deployer"
RBAC = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
MANAGE = (*READ, "create", "update", "patch", "delete")


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
        roles.append(
            manifest(
                f"{RBAC}/v1",
                "Role",
                NAME,
                space,
                names,
                rules=namespace_rules([*render(config, plan), *keys_objects(config, plan.stack)], space),
            )
        )
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


def namespace_rules(objects: Sequence[Manifest], namespace: str) -> list[dict[str, Any]]:
    """What a serving stack needs inside its namespace: its kinds, and to see pods come up. No pods of its own, and Secrets
    only where tenants have keys.

    Kinds that the present config does not ask for are among them: a later change needs no new role.
    """
    inside = {kind_of_object(made).kind for made in objects if made["metadata"].get("namespace") == namespace}
    managed = [kind for kind in kinds().values() if kind.namespaced and (kind.made is Maker.SERVING or kind.kind in inside)]
    return [*_managed(managed), *(_rule(group, plurals, READ) for group, plurals in WATCHED)]


def cluster_rules(config: ClusterConfig, plan: ClusterPlan) -> list[dict[str, Any]]:
    """What the stack needs outside its namespace: to know which cluster this is, and its cluster-wide objects by name."""
    # The UID of kube-system identifies the cluster; the labels of the namespace say whose it is.
    rules = [_rule("", ("namespaces",), ("get",), tuple(sorted({config.namespace, "kube-system"})))]
    rules += _named(render(config, plan))
    if config.scope is not Scope.SERVING:
        # Whether a change of how cards are shared meets nodes in use is asked before it is made.
        rules.append(_rule("", ("nodes", "pods"), READ))
        platform = platform_objects(config, plan)
        outside = {kind.kind: kind for kind in map(kind_of_object, platform) if kind.namespaced}
        if outside:
            rules += [*_managed(outside[name] for name in sorted(outside)), *(_rule(group, plurals, READ) for group, plurals in WATCHED)]
        # Kubernetes lets nobody hand out rights that he does not have.
        rules += [rule for made in platform for rule in made.get("rules", ()) if made["kind"] == "ClusterRole"]
    return rules


def _named(objects: Sequence[Manifest]) -> Iterator[dict[str, Any]]:
    """Rights on cluster-wide objects, by name where RBAC knows the name: a create has none yet."""
    clusterwide = {kind.kind: kind for kind in map(kind_of_object, objects) if not kind.namespaced}
    for name, known in sorted(clusterwide.items()):
        names = sorted(made["metadata"]["name"] for made in objects if made["kind"] == name)
        if name != "Node":
            yield _rule(known.group, (known.plural,), ("create",))
        changes = tuple(verb for verb in MANAGE if verb != "create" and not (name == "Node" and verb == "delete"))
        yield _rule(known.group, (known.plural,), changes, tuple(names))


def _managed(managed: Iterable[Kind]) -> list[dict[str, Any]]:
    by_group: dict[str, list[str]] = {}
    for kind in managed:
        by_group.setdefault(kind.group, []).append(kind.plural)
    return [_rule(group, tuple(sorted(plurals)), MANAGE) for group, plurals in sorted(by_group.items())]


def _rule(group: str, plurals: tuple[str, ...], verbs: tuple[str, ...], names: tuple[str, ...] = ()) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": list(plurals), "verbs": list(verbs)}
    return rule | {"resourceNames": list(names)} if names else rule
