"""Shares: what the GPU layer advertises for a pool, which config class its nodes get, and the labels discovery writes on them."""

import math
import re
from collections.abc import Mapping
from functools import cache

from interlock.infra.catalog.gpus import Gpu
from interlock.infra.catalog.gpus import gpu as catalog_gpu
from interlock.infra.catalog.tables import table
from interlock.infra.config.pools import PoolConfig, Sharing
from interlock.infra.engine.args import EngineArgs
from interlock.infra.naming import label
from interlock.infra.plan.pools import resource_name, shares_per_card
from interlock.infra.plan.reasons import Reason
from interlock.infra.sizing import SizingResult
from interlock.infra.values import GIB, MIB, gib

GPU = "nvidia.com/gpu"
PLUGIN_CONFIG = "nvidia.com/device-plugin.config"
"""Node label by which the device plugin picks its config; ours to write."""
MIG_CONFIG = "nvidia.com/mig.config"
"""Node label by which the MIG manager picks a layout; ours to write."""
MIG_DISABLED = "all-disabled"
_KV_STEP = 256 * MIB
"""A fixed KV pool is rounded down to this, so that a better prediction seldom changes a pod."""
SHARED_CARD = 0.96
"""Part of a card that its engines may take together: 0.7 GiB of an H200 were gone before any engine started, 3 % of a 24 GB card."""

# k8s-device-plugin internal/lm/resource.go, getArchFamily: (compute capability up to, family).
_FAMILIES = ((7.0, "volta"), (7.5, "turing"), (8.8, "ampere"), (8.9, "ada-lovelace"), (9.0, "hopper"), (99.0, "blackwell"))


@cache
def _products() -> Mapping[str, tuple[str, int | None]]:
    return {row["gpu"]: (row["product"], row["memory_mib"]) for row in table("gpu_labels.json")["cards"]}


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


def shared_card(pool: PoolConfig, engine: EngineArgs, why: dict[str, Reason]) -> EngineArgs:
    """The engine's flags on a card that others use too, for which nobody chose a part: an even one.

    vLLM refuses to start when the card has less free than total x utilization, so the default would let only the first engine in.
    Whole cards and MIG instances are nobody else's and stay as they are.
    """
    if pool.share.kind not in (Sharing.TIME_SLICING, Sharing.MPS):
        return engine
    shares = pool.share.replicas or 1
    part = math.floor(100 * SHARED_CARD / shares) / 100
    why["gpu_memory_utilization"] = Reason(value=str(part), reason=f"{SHARED_CARD} of the card / {shares} shares")
    return engine.model_copy(update={"gpu_memory_utilization": part})


def beyond_its_share(pool: PoolConfig, part: float | None) -> str:
    """Why no further engine finds room on a card with one of it, although a share is free; empty where one does. ``part``: of the card,
    that it takes."""
    shares = pool.share.replicas
    if pool.share.kind not in (Sharing.TIME_SLICING, Sharing.MPS) or not shares or part is None or part * shares <= 1:
        return ""
    return f"it takes {part:g} of a card that is shared by {shares}: a second one beside it would find too little free memory"


def fixed_pool(pool: PoolConfig, engine: EngineArgs, sized: SizingResult, why: dict[str, Reason]) -> EngineArgs:
    """The engine's flags with a KV pool of a fixed size on a shared card, from the low end of what is surely free.

    Engines that start together count each other's growing memory as their own: two of 0.45 on one H200 got 31 and 16 GiB of KV, and
    47 GiB each when started in turn. A fixed pool takes that measurement out.
    """
    if pool.share.kind not in (Sharing.TIME_SLICING, Sharing.MPS) or engine.kv_cache_memory_bytes is not None:
        return engine
    free = sized.kv_available_gib.low if sized.kv_available_gib else 0.0
    if free <= 0:
        return engine
    size = int(free * GIB) // _KV_STEP * _KV_STEP
    told = "the low end of what is left beside weights and activation, fixed because the card is shared"
    why["kv_cache_memory_bytes"] = Reason(value=gib(size), reason=told)
    return engine.model_copy(update={"kv_cache_memory_bytes": size})


def our_labels(pool: PoolConfig) -> dict[str, str]:
    """The node labels that this stack owns: its own, and the two by which NVIDIA's components pick a config."""
    ours = {**({label("pool"): pool.name} if pool.marked else {}), PLUGIN_CONFIG: plugin_class(pool)}
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
    if card is not None:
        found |= _card_labels(card, shared)
        if mig:
            found |= _mig_labels(pool, card)
    return found


def _card_labels(card: Gpu, shared: bool) -> dict[str, str]:
    """What discovery says of the card itself."""
    product, memory = _products().get(card.name, (card.name, None))
    name = product_label(product)
    major, minor = f"{card.compute_capability:.1f}".split(".")
    return {
        f"{GPU}.product": f"{name}-SHARED" if shared else name,
        f"{GPU}.family": next(family for up_to, family in _FAMILIES if card.compute_capability <= up_to),
        f"{GPU}.compute.major": major,
        f"{GPU}.compute.minor": minor,
        "nvidia.com/mig.capable": str(card.mig is not None).lower(),
        **({f"{GPU}.memory": str(memory)} if memory else {}),
    }


def _mig_labels(pool: PoolConfig, card: Gpu) -> dict[str, str]:
    """What discovery says of the MIG instances, under the resource they are advertised by."""
    resource, part = resource_name(pool), unit_part(pool)
    return {
        "nvidia.com/mig.strategy": "mixed",
        f"{resource}.count": str(pool.gpus_per_node * shares_per_card(pool)),
        f"{resource}.replicas": "1",
        f"{resource}.product": f"{product_label(_products().get(card.name, (card.name, None))[0])}-MIG-{pool.share.profile}",
        f"{resource}.sharing-strategy": "none",
        **({f"{resource}.memory": str(part // MIB)} if part else {}),
    }


def shared_by_mps(pool: PoolConfig) -> bool:
    """Whether the pool's cards are shared by MPS, which needs a control daemon on the node."""
    return pool.share.kind is Sharing.MPS


def product_label(product: str) -> str:
    """A product name as a label value: other characters dropped, blanks as dashes."""
    return "-".join(re.sub(r"[^A-Za-z0-9-_. ]", "", product).split())


def node_labels(pool: PoolConfig) -> dict[str, str]:
    """All labels of a node of the pool: discovered ones, ours, and those a person added."""
    return {**discovered_labels(pool), **our_labels(pool), **pool.labels}
