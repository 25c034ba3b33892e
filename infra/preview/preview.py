"""config -> decide -> build -> recognise -> judge -> tell."""

import datetime as dt

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.render import render
from interlock.infra.manifests.waivers import waived_objects
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview.facts import plan_facts
from interlock.infra.preview.tell import Provenance
from interlock.infra.rules.findings import Waiver
from interlock.infra.rules.judge import judge
from interlock.infra.rules.waivers import apply_waivers


def preview(config: ClusterConfig, stack: str, source: str = "", *, today: dt.date) -> ClusterPlan:
    """The plan of ``config`` for ``stack`` with every finding, told by the fields of ``source`` (the file that was read).

    ``today`` decides about waivers. Never raises on a loaded config.
    """
    decided = plan(config, stack)
    objects = render(config, decided)
    judged = judge(plan_facts(decided, objects, source), config.rules, today=today)
    told = map(Provenance(config, decided, objects, source).translate, judged)
    waivers = [Waiver.model_validate(waiver.model_dump()) for waiver in config.waivers]
    findings = apply_waivers(told, waivers, today)
    waived = waived_objects(zip(judged, findings, strict=True))
    return decided.model_copy(update={"findings": findings, "waived": waived})
