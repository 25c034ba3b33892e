"""Priority classes: who goes first when a pool is full."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.naming import joined, label


def priority_objects(config: ClusterConfig, stack: str) -> list[Manifest]:
    """The PriorityClasses, lowest first."""
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack}
    return [
        manifest(
            "scheduling.k8s.io/v1",
            "PriorityClass",
            joined(stack, each.name),
            None,
            names,
            value=each.value,
            globalDefault=False,
            preemptionPolicy="PreemptLowerPriority" if each.preempts else "Never",
            description=each.description,
        )
        for each in sorted(config.platform.priority_classes, key=lambda each: (each.value, each.name))
    ]
