"""The device plugin's config: one entry per class of nodes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.platform import GpuLayerConfig
from interlock.infra.config.pools import PoolConfig, Sharing
from interlock.infra.manifests.placed import put
from interlock.infra.plan.shares import GPU, plugin_class


def facts() -> Mapping[str, Any]:
    """Version, image and known keys of the device plugin."""
    return table("device_plugin.json")


def plugin_config(pool: PoolConfig, layer: GpuLayerConfig) -> dict[str, Any]:
    """The plugin's config for the nodes of ``pool``."""
    flags = {
        "migStrategy": "mixed" if pool.share.kind is Sharing.MIG else "none",
        "failOnInitError": True,
        "nvidiaDriverRoot": layer.driver_root,
        "plugin": {
            "passDeviceSpecs": False,
            "deviceListStrategy": ["cdi-cri"] if layer.cdi else ["envvar"],
            "deviceIDStrategy": "uuid",
        },
    }
    config: dict[str, Any] = {"version": "v1", "flags": flags}
    if pool.share.replicas is not None:
        shared: dict[str, Any] = {"renameByDefault": False, "failRequestsGreaterThanOne": True}
        shared["resources"] = [{"name": GPU, "replicas": pool.share.replicas}]
        config["sharing"] = {"mps" if pool.share.kind is Sharing.MPS else "timeSlicing": shared}
    return config


def plugin_configs(pools: Sequence[PoolConfig], layer: GpuLayerConfig) -> dict[str, str]:
    """Config text by class name, one entry per class that a pool needs, in a stable order."""
    made = {plugin_class(pool): plugin_config(pool, layer) for pool in pools}
    return {name: json.dumps(made[name], indent=2) + "\n" for name in sorted(made)}


def placed_configs(config: ClusterConfig, data: Mapping[str, str]) -> dict[str, Any]:
    """Config texts by class name, each from the pool that it was made for."""
    at = {plugin_class(pool): index for index, pool in reversed(list(enumerate(config.pools)))}
    return {name: put(text, f"pools[{at[name]}].share") for name, text in data.items()}
