"""The whole page: summary, what costs most, pools, servers, findings beside what they are about."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from interlock.cli.page.findings import about, others
from interlock.cli.page.markup import Html, html, tag
from interlock.cli.page.memory import memory
from interlock.cli.page.nodes import hue, pool_section
from interlock.cli.page.times import rollout_lines, start_lines
from interlock.cli.show import at_once, needs_ray, not_met, size
from interlock.infra.plan.costs import costliest
from interlock.infra.plan.types import ClusterPlan, PlannedServer
from interlock.infra.rules.findings import Severity
from interlock.infra.sizing import SizingResult
from interlock.infra.values import plural

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser itself refuses everything that is not in the page."""


def page(plan: ClusterPlan, fits: Sequence[SizingResult]) -> str:
    """The plan as HTML; ``fits[i]`` is the planner's answer to server ``i``."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{plan.stack}: the plan"),
        tag("style", _style()),
    )
    servers = [_server(plan, server, fit) for server, fit in zip(plan.servers, fits, strict=True)]
    body = [
        _summary(plan),
        _found(plan),
        _costs(plan),
        tag("h2", "Nodes"),
        [pool_section(plan, pool) for pool in plan.pools],
        [tag("h2", "Servers"), servers] if servers else "",
    ]
    return f"<!doctype html>\n{tag('html', head, tag('body', tag('main', body)), lang='en')}\n"


@cache
def _style() -> Html:
    return Html(files("interlock.cli.page").joinpath("page.css").read_text("utf-8"))


def _summary(plan: ClusterPlan) -> Html:
    asked, units = sum(pool.asked for pool in plan.pools), sum(pool.units for pool in plan.pools)
    counts = f"{plural(len(plan.servers), 'server')} on {plural(len(plan.pools), 'pool')}, {asked} of {plural(units, 'GPU')} asked"
    verdict = f"refused by {plural(len(plan.refused), 'finding')}" if plan.refused else "nothing is refused"
    chips = [tag("span", verdict, class_=f"chip {'error' if plan.refused else 'good'}")]
    for severity in Severity:
        count = sum(1 for each in plan.findings if each.severity is severity and not each.waiver)
        if count:
            chips.append(tag("span", f"{count} {severity}", class_=f"chip {severity}"))
    where = f"namespace {plan.namespace}, scope {plan.scope}: {counts}"
    return tag("header", tag("h1", plan.stack), tag("p", where), tag("p", chips))


def _found(plan: ClusterPlan) -> Html:
    """What is about nothing that is drawn, and where the errors stand."""
    links = dict.fromkeys(
        (each.subject.kind.lower(), each.subject.name) for each in plan.refused if each.subject.kind in ("Server", "Pool")
    )
    told = [tag("a", f"{kind} {name}", href=f"#{kind}-{name}") for kind, name in links]
    where = tag("p", "errors at: ", [[link, " "] for link in told]) if told else ""
    ray = [tag("p", tag("b", f"{name} would need Ray: "), why.reason) for name, why in needs_ray(plan)]
    unmet = [tag("p", tag("b", f"{name}: "), why.reason) for name, why in not_met(plan)]
    return html([where, others(plan), unmet, ray])


def _costs(plan: ClusterPlan) -> Html:
    found = costliest(plan)
    if not found:
        return html("")
    rows = [
        tag(
            "li",
            tag("a", each.server, href=f"#server-{each.server}"),
            f" {each.decision.replace('_', ' ')} ",
            tag("b", f"+{plural(each.gpus, 'GPU')}"),
            f": {each.told}",
        )
        for each in found
    ]
    return html([tag("h2", "What costs most"), tag("ol", rows)])


def _server(plan: ClusterPlan, server: PlannedServer, fit: SizingResult) -> Html:
    replicas = f"{server.replicas} to {server.max_replicas}" if server.max_replicas != server.replicas else str(server.replicas)
    verdict = fit.verdict.replace("_", " ")
    facts = {
        "model": server.model_id,
        "pool": server.pool,
        "replicas": replicas,
        "GPUs each": size(server),
        "requests at once": at_once(server, fit),
        "vLLM": server.vllm or "not known",
        "pod": f"{server.cpu} cores, {server.memory} memory",
    }
    told = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items() if value]
    head = tag(
        "h3",
        tag("span", class_="dot", style=f"--hue:{hue(server.index)}"),
        server.name,
        " ",
        tag("span", verdict, class_=f"chip {fit.verdict}"),
    )
    lines = [
        head,
        tag("dl", told),
        about(plan, "Server", server.name),
        memory(fit),
        start_lines(server),
        rollout_lines(server),
        _reasons(server),
    ]
    return tag("article", lines, id=f"server-{server.name}")


def _reasons(server: PlannedServer) -> Html:
    rows = [
        tag("tr", tag("th", name.replace("_", " "), scope="row"), tag("td", why.value), tag("td", why.reason, _instead(why.instead)))
        for name, why in server.why.items()
    ]
    return tag("details", tag("summary", "every number with its reason"), tag("table", tag("tbody", rows)))


def _instead(told: str) -> Html:
    return tag("p", f"instead: {told}", class_="quiet") if told else html("")
