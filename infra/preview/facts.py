"""A plan as facts: its own objects recognised like anybody's, with what only the plan knows added."""

from collections.abc import Sequence
from dataclasses import replace

from interlock.infra.facts import Bundle, Fact, Origin, Pool, Workload, absent, known
from interlock.infra.manifests.common import Manifest
from interlock.infra.naming import label
from interlock.infra.plan.types import ClusterPlan, PlannedPool, PlannedServer
from interlock.infra.recognise import Document, recognise


def plan_facts(plan: ClusterPlan, objects: Sequence[Manifest], source: str = "") -> Bundle:
    """The facts of a whole plan: the set is closed, pools and models are known."""
    bundle = recognise([Document(made, source, index) for index, made in enumerate(objects)], closed=True)
    servers = {server.name: server for server in plan.servers}
    workloads = tuple(_enriched(each, servers) for each in bundle.workloads)
    pools = tuple(_pool(pool, index) for index, pool in enumerate(plan.pools))
    return replace(bundle, workloads=workloads, pools=(*pools, *bundle.pools))


def _enriched(workload: Workload, servers: dict[str, PlannedServer]) -> Workload:
    server = servers.get(workload.origin.labels.get(label("server"), ""))
    if server is None:
        return workload
    base = f"servers[{server.index}]"
    engine = replace(
        workload.engine,
        model=known(server.model_id, f"{base}.model.id"),
        attention_heads=_known(server.attention_heads, f"{base}.model"),
        kv_heads=_known(server.kv_heads, f"{base}.model"),
        weight_bytes=_known(server.weight_bytes, f"{base}.model"),
        version=known(server.vllm, f"{base}.image") if server.vllm else workload.engine.version,
        load_seconds=known(server.times.load, f"{base}.startup_seconds"),
    )
    origin = replace(workload.origin, ours=True)
    return replace(workload, origin=origin, engine=engine, pool=known(server.pool, f"{base}.pool"))


def _known(value: int | None, path: str) -> Fact[int]:
    return absent(path) if value is None else known(value, path)


def _pool(pool: PlannedPool, index: int) -> Pool:
    base = f"pools[{index}]"
    return Pool(
        origin=Origin(kind="Pool", name=pool.name, path=base, form="plan", ours=True),
        name=pool.name,
        gpu=known(pool.gpu, f"{base}.gpu"),
        resource=pool.resource,
        gpus_per_node=known(pool.units_per_node, f"{base}.gpus_per_node"),
        nodes=known(pool.nodes, f"{base}.nodes"),
        shares=known(pool.units_per_node // pool.cards_per_node, f"{base}.share"),
        sharing=known(pool.sharing, f"{base}.share.kind"),
        cpu=known(pool.cpu, f"{base}.cpu"),
        memory=known(pool.memory_bytes, f"{base}.memory"),
        nvlink=known(pool.nvlink, f"{base}.nvlink"),
        labels={key: known(value, f"{base}.labels") for key, value in pool.selector.items()},
        taints=pool.taints,
        gpu_memory=_known(pool.unit_memory_bytes, f"{base}.gpu"),
    )
