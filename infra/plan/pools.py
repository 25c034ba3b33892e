"""Pools: what their nodes offer, and how the planned pods fill them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.infra.catalog.gpus import gpu as catalog_gpu
from interlock.infra.config.pools import Allocation, PoolConfig, Sharing
from interlock.infra.config.servers import ServerConfig
from interlock.infra.facts.room import Pods, packed
from interlock.infra.naming import ENGINE, label
from interlock.infra.plan.types import NodeUse, PlannedPool
from interlock.infra.values import GIB, bytes_of, quantity

AWS_NOTICE, SHORT_NOTICE = 120, 30
"""Seconds of a spot node's notice: Amazon EC2 documentation, 'Spot Instance interruptions'; of Google's and Azure's, 30."""


@dataclass(frozen=True, slots=True)
class PodDemand:
    """One server's pods on a pool."""

    server: str
    count: int
    """Replicas."""
    units: int
    """Units of one pod."""
    pods: int = 1
    """Pods of one replica."""


def planned_pool(pool: PoolConfig, index: int, demands: Sequence[PodDemand]) -> PlannedPool:
    """The pool with its units and the pods of ``demands`` put on its nodes."""
    card = catalog_gpu(pool.gpu)
    nvlink = pool.nvlink if pool.nvlink is not None else bool(card and card.nvlink)
    units = pool.gpus_per_node * shares_per_card(pool)
    return PlannedPool(
        index=index,
        name=pool.name,
        gpu=card.name if card else pool.gpu,
        resource=resource_name(pool),
        nodes=pool.nodes,
        cards_per_node=pool.gpus_per_node,
        units_per_node=units,
        unit_memory_bytes=unit_memory(pool),
        sharing=pool.share.kind.value,
        nvlink=nvlink,
        selector=found_by(pool),
        taints=tuple(pool.taints),
        asked=sum(demand.count * demand.pods * demand.units for demand in demands),
        use=fill(pool.nodes, units, demands),
        cpu=float(quantity(pool.cpu)),
        memory_bytes=bytes_of(pool.memory),
        daemon_cpu=float(quantity(pool.daemon_cpu)) if pool.daemon_cpu else None,
        daemon_memory_bytes=bytes_of(pool.daemon_memory) if pool.daemon_memory else None,
        allocation=pool.allocation.value,
        backend=pool.backend.value,
        notice=notice(pool),
        domain=pool.domain.label if pool.domain else "",
        domain_nodes=pool.domain.nodes if pool.domain else 0,
    )


def notice(pool: PoolConfig) -> int | None:
    """Seconds that a spot node of the pool still has when it is told to go."""
    spot = pool.karpenter is not None and "spot" in pool.karpenter.capacity_types
    group = pool.karpenter.node_class_group if pool.karpenter else ""
    return pool.notice_seconds or ((AWS_NOTICE if group.endswith(".aws") else SHORT_NOTICE) if spot else None)


def found_by(pool: PoolConfig) -> dict[str, str]:
    """The labels by which pods find the nodes of the pool."""
    return {**({label("pool"): pool.name} if pool.marked else {}), **pool.labels}


def resource_name(pool: PoolConfig) -> str:
    """The extended resource that the pool's device plugin advertises (mixed MIG strategy)."""
    return f"nvidia.com/mig-{pool.share.profile}" if pool.share.kind is Sharing.MIG else "nvidia.com/gpu"


def device_class(resource: str) -> str:
    """The DeviceClass of the devices that the plugin would advertise as ``resource``."""
    return "mig.nvidia.com" if resource.startswith("nvidia.com/mig-") else "gpu.nvidia.com"


def quota_entry(pool: PoolConfig) -> str:
    """The entry of a ResourceQuota that counts the pool's units; claims are counted by their device class, whatever they select of it."""
    resource = resource_name(pool)
    claimed = pool.allocation is Allocation.CLAIM
    return f"{device_class(resource)}.deviceclass.resource.k8s.io/devices" if claimed else f"requests.{resource}"


def units_beside(server: ServerConfig, resource: str) -> int:
    """Units that a person's own containers take beside the engine, be they refused or not: they are gone for others."""
    patched = server.extra.pod_patch.get("containers")
    # Numbers of more digits are refused as a quantity, and no integers to Python.
    own = [each for each in patched if _stated(each, "name") != ENGINE] if isinstance(patched, list) else []
    asked = [str(_stated(_stated(_stated(each, "resources"), "limits"), resource)) for each in own]
    return sum(int(units) for units in asked if units.isascii() and units.isdigit() and len(units) < 19)


def _stated(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, Mapping) else None


def shares_per_card(pool: PoolConfig) -> int:
    """Units of the resource that one card gives: 1 when exclusive, the replicas when sliced, the instances with MIG."""
    if pool.share.kind is Sharing.MIG:
        return pool.share.per_card or _mig_count(pool) or 1
    return pool.share.replicas or 1


def unit_memory(pool: PoolConfig) -> int | None:
    """Bytes that an engine sees on one unit: a MIG instance its own, a time-slice the whole card."""
    card = catalog_gpu(pool.gpu)
    if pool.gpu_memory is not None:
        return bytes_of(pool.gpu_memory)
    if card is None:
        return None
    if pool.share.kind is Sharing.MIG and card.geometry and pool.share.profile:
        profile = card.geometry.profile(pool.share.profile)
        return int(profile.memory_gib * GIB) if profile else None
    return int(card.memory_gib.likely * GIB)


def _mig_count(pool: PoolConfig) -> int | None:
    card = catalog_gpu(pool.gpu)
    profile = card.geometry.profile(pool.share.profile) if card and card.geometry and pool.share.profile else None
    return profile.max_count if profile else None


def fill(nodes: int, units: int, demands: Sequence[PodDemand]) -> tuple[NodeUse, ...]:
    """Pods put on nodes; pods that fit nowhere are left out."""
    filled, _ = packed([Pods(each.units, each.server, each.count * each.pods) for each in demands], units, nodes)
    return tuple(NodeUse(units=units, asked=units - node.free, pods=tuple(node.pods)) for node in filled)
