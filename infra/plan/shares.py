"""Shares: what the GPU layer advertises for a pool, which config class its nodes get, and the labels discovery writes on them."""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from interlock.infra.catalog.gpus import gpu as catalog_gpu
from interlock.infra.config.pools import PoolConfig, Sharing
from interlock.infra.naming import label
from interlock.infra.plan.pools import resource_name, shares_per_card
from interlock.infra.values import GIB, MIB

GPU = "nvidia.com/gpu"
PLUGIN_CONFIG = "nvidia.com/device-plugin.config"
"""Node label by which the device plugin picks its config; ours to write."""
MIG_CONFIG = "nvidia.com/mig.config"
"""Node label by which the MIG manager picks a layout; ours to write."""
MIG_DISABLED = "all-disabled"

# k8s-device-plugin internal/lm/resource.go, getArchFamily: (compute capability up to, family).
_FAMILIES = ((7.0, "volta"), (7.5, "turing"), (8.8, "ampere"), (8.9, "ada-lovelace"), (9.0, "hopper"), (99.0, "blackwell"))


@cache
def _products() -> Mapping[str, tuple[str, int | None]]:
    data = json.loads(resources.files("interlock.infra.catalog").joinpath("gpu_labels.json").read_text("utf-8"))
    return {row["gpu"]: (row["product"], row["memory_mib"]) for row in data["cards"]}


def plugin_class(pool: PoolConfig) -> str:
    """The name of the device plugin config that the pool's nodes need: ``exclusive``, ``time-slicing-4``, ``mps-2``, ``mig``."""
    share = pool.share
    return share.kind.value if share.replicas is None else f"{share.kind.value}-{share.replicas}"


def mig_class(pool: PoolConfig) -> str:
    """The name of the pool's MIG layout: ``1g.10gb-7`` is seven instances on each card; ``all-disabled`` without MIG."""
    return f"{pool.share.profile}-{shares_per_card(pool)}" if pool.share.kind is Sharing.MIG else MIG_DISABLED


def unit_part(pool: PoolConfig) -> int | None:
    """Bytes of the card that one unit may use, or None for an unknown GPU.

    A time-slice sees the whole card and nothing limits it; its part is an even share. MPS limits each client to that share.
    """
    card = catalog_gpu(pool.gpu)
    if card is None:
        return None
    if pool.share.kind is Sharing.MIG:
        profile = card.geometry.profile(pool.share.profile or "") if card.geometry else None
        return int(profile.memory_gib * GIB) if profile else None
    return int(card.memory_gib.likely * GIB) // (pool.share.replicas or 1)


def our_labels(pool: PoolConfig) -> dict[str, str]:
    """The node labels that this stack owns: its own, and the two by which NVIDIA's components pick a config."""
    ours = {label("pool"): pool.name, PLUGIN_CONFIG: plugin_class(pool)}
    card = catalog_gpu(pool.gpu)
    if card is not None and card.mig:
        ours[MIG_CONFIG] = mig_class(pool)
    return ours


def discovered_labels(pool: PoolConfig) -> dict[str, str]:
    """The labels that GPU feature discovery writes on a node of the pool; never ours to write.

    Source: k8s-device-plugin internal/lm (resource.go, mig-strategy.go, nvml.go), strategy ``mixed`` for MIG pools.
    """
    card = catalog_gpu(pool.gpu)
    shared = pool.share.kind in (Sharing.TIME_SLICING, Sharing.MPS)
    mig = pool.share.kind is Sharing.MIG
    found = {
        "nvidia.com/gpu.present": "true",
        f"{GPU}.count": str(pool.gpus_per_node),
        "nvidia.com/mps.capable": str(shared_by_mps(pool)).lower(),
    }
    found[f"{GPU}.replicas"] = "0" if mig else str(pool.share.replicas or 1)
    found[f"{GPU}.sharing-strategy"] = pool.share.kind.value if shared else "none"
    if card is None:
        return found
    product, memory = _products().get(card.name, (card.name, None))
    name = product_label(product)
    major, minor = (int(part) for part in f"{card.compute_capability:.1f}".split("."))
    found |= {
        f"{GPU}.product": f"{name}-SHARED" if shared else name,
        f"{GPU}.family": next(family for up_to, family in _FAMILIES if card.compute_capability <= up_to),
        f"{GPU}.compute.major": str(major),
        f"{GPU}.compute.minor": str(minor),
        "nvidia.com/mig.capable": str(card.mig is not None).lower(),
    }
    if memory:
        found[f"{GPU}.memory"] = str(memory)
    if mig:
        resource, part = resource_name(pool), unit_part(pool)
        found |= {
            "nvidia.com/mig.strategy": "mixed",
            f"{resource}.count": str(pool.gpus_per_node * shares_per_card(pool)),
            f"{resource}.replicas": "1",
            f"{resource}.product": f"{name}-MIG-{pool.share.profile}",
            f"{resource}.sharing-strategy": "none",
        }
        if part:
            found[f"{resource}.memory"] = str(part // MIB)
    return found


def shared_by_mps(pool: PoolConfig) -> bool:
    """Whether the pool's cards are shared by MPS, which needs a control daemon on the node."""
    return pool.share.kind is Sharing.MPS


def product_label(product: str) -> str:
    """A product name as a label value: other characters dropped, blanks as dashes."""
    return "-".join(re.sub(r"[^A-Za-z0-9-_. ]", "", product).split())


def node_labels(pool: PoolConfig) -> dict[str, str]:
    """All labels of a node of the pool: discovered ones, ours, and those a person added."""
    return {**discovered_labels(pool), **our_labels(pool), **pool.labels}
