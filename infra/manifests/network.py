"""NetworkPolicies: what is planned passes, everything else to and from these pods is denied."""

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import StoreConfig
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest, selector, server_manifest
from interlock.infra.manifests.placed import put
from interlock.infra.naming import joined, label
from interlock.infra.plan.flows import store_flows
from interlock.infra.plan.peers import Flow, Peer, PlannedFlows
from interlock.infra.plan.types import ClusterPlan, PlannedServer

NAMESPACE = "kubernetes.io/metadata.name"
"""Label of every namespace with its own name, which the API server sets."""


def server_policy(plan: ClusterPlan, server: PlannedServer, flows: PlannedFlows) -> Manifest:
    """The policy of a server's pods."""
    spec = policy(flows, selector(plan.stack, server.name), server.namespace)
    return server_manifest(plan, server, "networking.k8s.io/v1", "NetworkPolicy", spec=spec)


def store_policies(config: ClusterConfig, store: StoreConfig, stack: str) -> list[Manifest]:
    """The policy of the Jobs that fill a store; none without Jobs."""
    if not (config.network.policies and store.prefetch):
        return []
    chosen = {label("stack"): stack, label("store"): store.name}
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, **chosen}
    spec = policy(store_flows(config, store), chosen, config.namespace)
    name = joined(store.name, "fetch")
    return [manifest("networking.k8s.io/v1", "NetworkPolicy", name, put(config.namespace, "namespace"), names, spec=spec)]


def policy(flows: PlannedFlows, chosen: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """The spec of a NetworkPolicy for the pods with the labels ``chosen``."""
    return {
        "podSelector": {"matchLabels": dict(chosen)},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [put(_rule(flow, "from", namespace), flow.source, "flows") for flow in flows.into],
        "egress": [put(_rule(flow, "to", namespace), flow.source, "flows") for flow in flows.out],
    }


def _rule(flow: Flow, side: str, namespace: str) -> dict[str, Any]:
    rule: dict[str, Any] = {side: _peers(flow.peers, namespace)} if flow.peers else {}
    ports = [{"port": each.number, "protocol": each.protocol} for each in flow.ports]
    return rule | ({"ports": ports} if ports else {})


def _peers(peers: Sequence[Peer], namespace: str) -> list[dict[str, Any]]:
    return [_peer(each, namespace) for each in peers]


def _peer(peer: Peer, namespace: str) -> dict[str, Any]:
    if peer.cidr:
        return {"ipBlock": {"cidr": peer.cidr}}
    pods = {"podSelector": {"matchLabels": dict(peer.pods)} if peer.pods else {}}
    # A peer without a namespace selector is one of the policy's own namespace.
    elsewhere = peer.namespace not in ("", namespace)
    return {"namespaceSelector": {"matchLabels": {NAMESPACE: peer.namespace}}, **pods} if elsewhere else pods
