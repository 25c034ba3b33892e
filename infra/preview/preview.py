"""config -> decide -> build -> recognise -> judge -> tell."""

import datetime as dt
from collections.abc import Sequence

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.waivers import waived_objects
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview.facts import plan_facts
from interlock.infra.preview.tell import told
from interlock.infra.rules.findings import Waiver
from interlock.infra.rules.judge import judge
from interlock.infra.rules.waivers import apply_waivers


def preview(config: ClusterConfig, stack: str, source: str = "", *, today: dt.date) -> ClusterPlan:
    """The plan of ``config`` for ``stack`` with every finding, told by the fields of ``source`` (the file that was read).

    ``today`` decides about waivers. Never raises on a loaded config.
    """
    decided = plan(config, stack)
    return judged(config, decided, stack_objects(config, decided).drafts, source, today=today)


def judged(config: ClusterConfig, decided: ClusterPlan, drafts: Sequence[Draft], source: str = "", *, today: dt.date) -> ClusterPlan:
    """``decided`` with every finding on ``drafts``, which were built from it."""
    found = judge(plan_facts(decided, drafts, source), config.rules, today=today)
    waivers = [Waiver(code=each.code, path=each.path, reason=each.reason, expires=each.expires) for each in config.waivers]
    findings = apply_waivers(told(found, config, decided, drafts, source), waivers, today)
    waived = waived_objects(zip(found, findings, strict=True))
    # Two places in the objects may follow from one field: it is told once.
    once = {(each.code, each.subject, each.path, each.value, each.remedy): each for each in reversed(findings)}
    return decided.model_copy(update={"findings": tuple(reversed(once.values())), "waived": waived})
