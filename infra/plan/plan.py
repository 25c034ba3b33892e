"""config -> plan: pure, total, with every finding."""

import datetime as dt

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.render import render
from interlock.infra.manifests.waivers import waived_objects
from interlock.infra.naming import joined
from interlock.infra.plan.pools import planned_pool
from interlock.infra.plan.servers import planned_server, pod_demand
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview.facts import plan_facts
from interlock.infra.preview.tell import Provenance
from interlock.infra.rules.findings import Waiver
from interlock.infra.rules.judge import judge
from interlock.infra.rules.waivers import apply_waivers


def plan(config: ClusterConfig, stack: str, source: str = "", today: dt.date | None = None) -> ClusterPlan:
    """The plan of ``config`` for ``stack``. ``today`` decides about waivers (None = the system's date). Never raises on a loaded config."""
    pools = tuple(planned_pool(pool, [pod_demand(s) for s in config.servers if s.pool == pool.name]) for pool in config.pools)
    gaps = {pool.name: max(use.units - use.asked for use in pool.use) for pool in pools}
    servers = tuple(planned_server(config, index, gaps[server.pool]) for index, server in enumerate(config.servers))
    bare = ClusterPlan(
        stack=stack,
        scope=config.scope.value,
        namespace=config.namespace,
        production=config.production,
        pools=pools,
        servers=servers,
        priority_classes={each.name: joined(stack, each.name) for each in config.platform.priority_classes},
    )
    objects = render(config, bare)
    facts = plan_facts(bare, objects, source)
    provenance = Provenance(config, bare, objects, source)
    judged = judge(facts, config.rules, today=today)
    waivers = [Waiver.model_validate(waiver.model_dump()) for waiver in config.waivers]
    findings = apply_waivers(map(provenance.translate, judged), waivers, today or dt.date.today())
    waived = waived_objects(zip(judged, findings, strict=True))
    return bare.model_copy(update={"findings": findings, "waived": waived})
