"""The namespace of a stack."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.naming import label
from interlock.infra.plan.stores import NODE_KINDS


def namespace_object(config: ClusterConfig, stack: str) -> Manifest:
    """The stack's namespace under Pod Security ``restricted``; hostPath volumes are refused there, so such stores loosen it."""
    host_path = any(store.kind in NODE_KINDS for store in config.stores)
    level = "privileged" if host_path else "restricted"
    names = {
        "app.kubernetes.io/managed-by": MANAGED_BY,
        label("stack"): stack,
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/warn": "restricted",
    }
    return manifest("v1", "Namespace", config.namespace, None, names)
