"""config -> decide -> build -> recognise -> judge -> tell."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import StackObjects
from interlock.infra.manifests.waivers import waived_objects
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview.facts import plan_facts
from interlock.infra.preview.tell import told
from interlock.infra.rules.findings import Waiver
from interlock.infra.rules.judge import judge
from interlock.infra.rules.waivers import apply_waivers


@dataclass(frozen=True, slots=True)
class Previewed:
    """A plan with its findings, and the objects that were judged."""

    plan: ClusterPlan
    objects: StackObjects


def preview(config: ClusterConfig, stack: str, source: str = "", *, today: dt.date) -> ClusterPlan:
    """The plan of ``config`` for ``stack`` with every finding, told by the fields of ``source`` (the file that was read).

    ``today`` decides about waivers. Raises ConfigError, as ``plan`` does, for what a server asks of an image that cannot do it.
    """
    return previewed(config, stack, source, today=today).plan


def previewed(config: ClusterConfig, stack: str, source: str = "", *, today: dt.date) -> Previewed:
    """``preview`` together with the objects, for who registers or prints them: they are built once."""
    decided = plan(config, stack)
    objects = stack_objects(config, decided)
    made = judged(config, decided, objects.drafts, source, today=today)
    # Only now it is known which objects carry a waiver.
    return Previewed(made, stack_objects(config, made) if made.waived else objects)


def judged(config: ClusterConfig, decided: ClusterPlan, drafts: Sequence[Draft], source: str = "", *, today: dt.date) -> ClusterPlan:
    """``decided`` with every finding on ``drafts``, which were built from it."""
    found = judge(plan_facts(decided, drafts, source), config.rules, today=today)
    waivers = [Waiver(code=each.code, path=each.path, reason=each.reason, expires=each.expires) for each in config.waivers]
    findings = apply_waivers(told(found, config, decided, drafts, source), waivers, today)
    waived = waived_objects(zip(found, findings, strict=True))
    # Two places in the objects may follow from one field: it is told once.
    once = {(each.code, each.subject, each.path, each.value, each.remedy): each for each in reversed(findings)}
    return decided.model_copy(update={"findings": tuple(reversed(once.values())), "waived": waived})
