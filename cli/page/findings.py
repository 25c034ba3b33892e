"""Findings as boxes, to stand beside what they are about."""

from collections.abc import Iterable, Sequence

from interlock.cli.page.markup import Html, html, tag
from interlock.infra.plan.types import ClusterPlan, Offer
from interlock.infra.rules.findings import Finding


def about(plan: ClusterPlan, kind: str, name: str) -> Html:
    """What is found about one server or pool, worst first, with what would do instead."""
    mine = [each for each in plan.findings if (each.subject.kind, each.subject.name) == (kind, name)]
    return html(_boxes(mine, plan.offers))


def others(plan: ClusterPlan) -> Html:
    """What is found about anything else: stores, tenants, objects by their own kind."""
    shown = {("Server", each.name) for each in plan.servers} | {("Pool", each.name) for each in plan.pools}
    return html(_boxes([each for each in plan.findings if (each.subject.kind, each.subject.name) not in shown], plan.offers))


def _boxes(found: Sequence[Finding], offers: Iterable[Offer]) -> list[Html]:
    ordered = sorted(found, key=lambda each: (each.waiver is not None, -each.severity.rank, each.code, each.path))
    listed, told = list(offers), []
    for each in ordered:
        mine = [offer for offer in listed if offer.code == each.code and each.subject.name in (offer.server, "") and not each.waiver]
        listed = [offer for offer in listed if offer not in mine]
        told.append(_box(each, mine))
    return told


def _box(finding: Finding, offers: Sequence[Offer]) -> Html:
    head = tag("b", f"{finding.code} {'waived' if finding.waiver else finding.severity}")
    where = f"{finding.path} = {finding.value}" if finding.value else finding.path
    lines = [tag("p", head, " ", tag("code", where), " ", finding.summary)]
    rest = (("why", finding.detail), ("fix", finding.remedy), ("note", finding.note))
    lines += [tag("p", tag("i", name), " ", text) for name, text in rest if text]
    if finding.waiver:
        lines.append(tag("p", tag("i", "waived"), " ", finding.waiver.reason))
    if offers:
        lines.append(tag("p", tag("i", "or")))
        lines.append(tag("ul", [tag("li", tag("code", _changes(offer)), f" {offer.loss}") for offer in offers]))
    return tag("div", lines, class_=f"finding {'waived' if finding.waiver else finding.severity}")


def _changes(offer: Offer) -> str:
    return ", ".join(f"{fix.path}: {'(leave out)' if fix.value is None else fix.value}" for fix in offer.fixes)
