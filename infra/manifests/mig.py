"""MIG: the layouts that the MIG manager applies, by the name that a node's label picks."""

import json
from collections.abc import Sequence
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.platform import GpuLayerKind
from interlock.infra.config.pools import PoolConfig, Sharing
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.placed import put
from interlock.infra.naming import joined, label
from interlock.infra.plan.pools import shares_per_card
from interlock.infra.plan.shares import MIG_DISABLED, mig_class


def mig_config(pools: Sequence[PoolConfig]) -> dict[str, Any]:
    """A mig-parted spec (``version: v1``) with one entry per layout that a pool needs, and one that switches MIG off.

    Format: NVIDIA/mig-parted api/spec/v1/spec.go.
    """
    configs: dict[str, Any] = {MIG_DISABLED: [{"devices": "all", "mig-enabled": False}]}
    for pool in pools:
        if pool.share.kind is Sharing.MIG:
            devices = {str(pool.share.profile): shares_per_card(pool)}
            configs[mig_class(pool)] = [{"devices": "all", "mig-enabled": True, "mig-devices": devices}]
    return {"version": "v1", "mig-configs": dict(sorted(configs.items()))}


def mig_objects(config: ClusterConfig, stack: str) -> list[Manifest]:
    """The ConfigMap for the MIG manager, when a pool uses MIG. Its name is fixed: the manager's own settings refer to it."""
    pools, layer = [pool for pool in config.pools if pool.share.kind is Sharing.MIG], config.platform.gpu_layer
    if not pools or (layer.kind is GpuLayerKind.INSTALLED and layer.namespace is None):
        return []
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack}
    text = json.dumps(mig_config(pools), indent=2) + "\n"
    data = {"config.yaml": put(text, f"pools[{config.pools.index(pools[0])}].share") if len(pools) == 1 else text}
    return [manifest("v1", "ConfigMap", joined(stack, "mig-parted"), layer.home, names, data=data)]
