"""Tables for people: the plan, its findings and its reasons."""

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from interlock.infra.plan.types import ClusterPlan, Offer, PlannedServer
from interlock.infra.rules.findings import Finding, Severity

STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def plan_tables(plan: ClusterPlan) -> RenderableType:
    """Pools, servers, reasons and findings."""
    parts: list[RenderableType] = [f"stack {plan.stack}, namespace {plan.namespace}, scope {plan.scope}", pools(plan)]
    if plan.servers:
        parts += [servers(plan), reasons(plan.servers)]
    parts.append(findings(plan.findings))
    if plan.offers:
        parts.append(offers(plan.offers))
    return Group(*parts)


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


def servers(plan: ClusterPlan) -> Table:
    """Every server with its sizes and times."""
    table = Table(
        "server", "model", "pool", "replicas", "GPUs", "TP", "PP", "DP", "memory", "start", "grace", title="Servers", box=box.SIMPLE
    )
    for server in plan.servers:
        engine = server.args.engine
        replicas = f"{server.replicas}-{server.max_replicas}" if server.max_replicas != server.replicas else str(server.replicas)
        sizes = (str(server.gpus), str(engine.tp), str(engine.pp), str(engine.dp), server.memory)
        times = (f"{server.times.load:.0f} of {server.times.startup} s", f"{server.times.grace} s")
        table.add_row(server.name, server.model_id, server.pool, replicas, *sizes, *times)
    return table


def reasons(planned: tuple[PlannedServer, ...]) -> Table:
    """Why each number is what it is."""
    table = Table("server", "decision", "why", title="Why", box=box.SIMPLE)
    for server in planned:
        for position, (decision, why) in enumerate(server.why.items()):
            table.add_row(server.name if position == 0 else "", decision.replace("_", " "), why.told)
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
