"""The namespace of a stack."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.tenants import PodSecurity
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.placed import put
from interlock.infra.naming import label
from interlock.infra.plan.stores import NODE_KINDS


def namespace_object(config: ClusterConfig, stack: str) -> Manifest:
    """The stack's namespace under Pod Security ``restricted``, or as its tenant says; hostPath volumes are refused there, so such stores
    loosen it."""
    host_path = any(store.kind in NODE_KINDS for store in config.stores)
    said = next(((at, each.pod_security) for at, each in enumerate(config.tenants) if each.name == config.namespace), None)
    stated = put(said[1].value, f"tenants[{said[0]}].pod_security") if said else PodSecurity.RESTRICTED.value
    level = PodSecurity.PRIVILEGED.value if host_path else stated
    names = {
        "app.kubernetes.io/managed-by": MANAGED_BY,
        label("stack"): stack,
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/warn": "restricted",
    }
    return manifest("v1", "Namespace", config.namespace, None, names)
