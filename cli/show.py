"""Tables for people: the plan, its findings and its reasons."""

import datetime as dt
from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from interlock.infra.plan.access import ended, limits
from interlock.infra.plan.costs import Cost, costliest
from interlock.infra.plan.derive.held import NOT_HELD
from interlock.infra.plan.holders import PlannedTenant
from interlock.infra.plan.ray import NEEDED
from interlock.infra.plan.reasons import Reason
from interlock.infra.plan.types import ClusterPlan, Offer, PlannedServer
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.sizing import SizingResult
from interlock.infra.values import plural

MOST_TENANTS = 12
"""Rows of tenants that the page has room for."""
STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def plan_tables(plan: ClusterPlan, fits: Sequence[SizingResult], why: Sequence[str] = (), *, today: dt.date) -> RenderableType:
    """A plan to be read in half a minute: one line for each server and pool, what costs most, findings.

    ``why``: servers told in full; ``today`` decides whose keys have ended.
    """
    parts: list[RenderableType] = [heading(plan), pools(plan)]
    if plan.servers:
        parts.append(servers(plan, fits))
    if any(server.access for server in plan.servers):
        parts.append(tenants(plan, today))
    dear = costliest(plan)
    if dear:
        parts.append(costs(dear))
    parts += [Text(f"{name}: {why.reason}\n", style="yellow") for name, why in not_met(plan)]
    parts += [Text(f"{name} would need Ray: {why.reason}\n", style="yellow") for name, why in needs_ray(plan)]
    parts += [reasons(server) for server in plan.servers if server.name in why]
    parts.append(findings(plan.findings))
    if plan.offers:
        parts.append(offers(plan.offers))
    if plan.servers and not why:
        parts.append(Text(f"--why SERVER tells each number of a server with its reason, such as --why {plan.servers[0].name}", style="dim"))
    return Group(*parts)


def heading(plan: ClusterPlan) -> Text:
    """What the stack is, and whether it may be deployed."""
    asked, units = sum(pool.asked for pool in plan.pools), sum(pool.units for pool in plan.pools)
    counts = f"{plural(len(plan.servers), 'server')} on {plural(len(plan.pools), 'pool')}, {asked} of {plural(units, 'GPU')} asked"
    line = Text(f"stack {plan.stack}, namespace {plan.namespace}, scope {plan.scope}: {counts}; ")
    refused = len(plan.refused)
    return line.append(
        f"refused by {plural(refused, 'finding')}" if refused else "nothing is refused", style="bold red" if refused else "green"
    )


def pools(plan: ClusterPlan) -> Table:
    """GPUs asked and free, per pool and node."""
    table = Table(
        "pool", "GPU", "resource", "nodes", "per node", "asked", "free", "nodes: asked/offered (pods)", title="Pools", box=box.SIMPLE
    )
    for pool in plan.pools:
        nodes = "  ".join(f"{use.asked}/{use.units} ({_pods(use.pods)})" for use in pool.use[:8])
        more = f"  ... {len(pool.use) - 8} more" if len(pool.use) > 8 else ""
        counts = (str(pool.nodes), str(pool.units_per_node), str(pool.asked), str(pool.units - pool.asked))
        table.add_row(pool.name, pool.gpu, pool.resource, *counts, nodes + more)
    return table


def _pods(names: tuple[str, ...]) -> str:
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in counts.items()) or "empty"


def servers(plan: ClusterPlan, fits: Sequence[SizingResult]) -> Table:
    """Every server with its size, its memory and its start; ``fits[i]`` is the planner's answer to server ``i``."""
    table = Table("server", "model", "pool", "replicas", "GPUs each", "GPU memory", title="Servers", box=box.SIMPLE)
    table.add_column("requests at once")
    table.add_column("start cold, warm")
    table.add_column("rollout")
    for server, fit in zip(plan.servers, fits, strict=True):
        replicas = f"{server.replicas}-{server.max_replicas}" if server.max_replicas != server.replicas else str(server.replicas)
        way = server.why["rollout"].value if "rollout" in server.why else ""
        times = ", ".join(span(each.total.likely) for each in (server.start.cold, server.start.warm))
        row = (
            server.name,
            server.model_id,
            server.pool,
            replicas,
            size(server),
            fit.verdict.replace("_", " "),
            at_once(server, fit),
            times,
            way,
        )
        table.add_row(*row)
    return table


def needs_ray(plan: ClusterPlan) -> list[tuple[str, Reason]]:
    """Servers for which the config asks what only Ray does, with the reason."""
    return [(each.name, each.why["ray"]) for each in plan.servers if each.why["ray"].value == NEEDED]


def not_met(plan: ClusterPlan) -> list[tuple[str, Reason]]:
    """Servers whose wished load does not surely fit, with the arithmetic."""
    return [(each.name, each.why["load"]) for each in plan.servers if "load" in each.why and each.why["load"].value == NOT_HELD]


def size(server: PlannedServer) -> str:
    """GPUs of one replica, and how the engine divides them: ``16 = TP 8 x PP 2, 2 nodes``."""
    engine = server.args.engine
    parts = [f"{name} {count}" for name, count in (("TP", engine.tp), ("PP", engine.pp), ("DP", engine.dp)) if count > 1]
    spread = " + EP" if engine.enable_expert_parallel and parts else ""
    return f"{server.gpus}{' = ' + ' x '.join(parts) if parts else ''}{spread}{f', {server.nodes} nodes' if server.nodes > 1 else ''}"


def at_once(server: PlannedServer, fit: SizingResult) -> str:
    """Requests of the full length that the KV caches of one replica surely hold: ``63 x 16,384 tokens``."""
    if fit.max_concurrency is None or not fit.max_model_len:
        return ""
    if fit.kv_needed_gib == 0:
        return "no KV cache needed"
    return f"{int(fit.max_concurrency.low) * server.args.engine.dp} x {fit.max_model_len:,} tokens"


def span(seconds: float) -> str:
    """Seconds for people: ``45 s``, ``4 min``, ``2.1 h``."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def tenants(plan: ClusterPlan, today: dt.date) -> Table:
    """Who may ask, with what limits in each replica; tenants with the same terms of several servers stand in one row."""
    table = Table("tenant", "tier", "servers", "limits of each replica", "Secret with the key", title="Tenants", box=box.SIMPLE)
    opened: dict[PlannedTenant, list[str]] = {}
    for server in plan.servers:
        for each in server.access.tenants if server.access else ():
            opened.setdefault(each, []).append(server.name)
    for each, names in list(opened.items())[:MOST_TENANTS]:
        over = ended(each, today)
        terms = [f"ended on {over}: its keys are refused"] if over else limits(each)
        table.add_row(each.name, each.tier, ", ".join(names), ", ".join(terms) or "none", each.secret, style="yellow" if over else "")
    if len(opened) > MOST_TENANTS:
        table.add_row(f"and {len(opened) - MOST_TENANTS} more", "", "", "", "")
    return table


def costs(found: Sequence[Cost]) -> Table:
    """The decisions that take the most GPUs."""
    table = Table("server", "decision", "GPUs more", "what it takes", title="What costs most", box=box.SIMPLE)
    for each in found:
        table.add_row(each.server, each.decision.replace("_", " "), f"+{each.gpus}", each.told)
    return table


def reasons(server: PlannedServer) -> Table:
    """Why each number of a server is what it is."""
    table = Table("decision", "value", "why", title=f"Why {server.name} is planned so", box=box.SIMPLE)
    for decision, why in server.why.items():
        instead = f"\n(instead: {why.instead})" if why.instead else ""
        table.add_row(decision.replace("_", " "), why.value, why.reason + instead)
    return table


def offers(found: tuple[Offer, ...]) -> Table:
    """Changes that have been planned and with which a refusal goes away, the smallest loss first."""
    table = Table("instead of", "server", "change", "what it costs", title="What would do", box=box.SIMPLE)
    for each in found:
        changes = "\n".join(f"{fix.path}: {'(leave out)' if fix.value is None else fix.value}" for fix in each.fixes)
        table.add_row(each.code, each.server, changes, each.loss)
    return table


def findings(found: tuple[Finding, ...]) -> RenderableType:
    """Findings, worst first."""
    if not found:
        return Text("no findings", style="green")
    ordered = sorted(found, key=lambda each: (each.waiver is not None, -each.severity.rank, each.code, each.path))
    return Group(*(Text(each.text() + "\n", style="dim" if each.waiver else STYLE[each.severity]) for each in ordered))


def console(*, stderr: bool = False) -> Console:
    """A console that does not cut wide tables when the output is piped."""
    made = Console(stderr=stderr, highlight=False, soft_wrap=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=200, no_color=True)
