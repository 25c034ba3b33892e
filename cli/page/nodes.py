"""Pools: nodes as boxes, with their cards in rows and the pods that take them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from interlock.cli.page.findings import about
from interlock.cli.page.markup import Html, tag
from interlock.infra.plan.types import ClusterPlan, NodeUse, PlannedPool, PlannedServer
from interlock.infra.values import binary, plural

_CARDS_IN_A_ROW = 8
_MOST_BOXES = 64
"""Boxes of one pool; nodes that are filled alike share one."""


def pool_section(plan: ClusterPlan, pool: PlannedPool) -> Html:
    """One pool: what it offers, its nodes, and what is found about it."""
    servers = {server.name: server for server in plan.servers if server.pool == pool.name}
    shared = "" if pool.sharing == "exclusive" else f", {pool.sharing}: {plural(pool.units_per_node, 'unit')} on each"
    offered = f"{plural(pool.nodes, 'node')} of {plural(pool.cards_per_node, 'card')} ({pool.gpu}{shared}; {pool.cpu:g} cores, "
    line = f"{offered}{binary(pool.memory_bytes)} memory); {pool.asked} of {plural(pool.units, 'unit')} asked"
    alike = [(use, len(list(same))) for use, same in groupby(pool.use)]
    boxes = [_node(pool, use, count, servers) for use, count in alike[:_MOST_BOXES]]
    more = sum(count for _, count in alike[_MOST_BOXES:])
    rest = tag("p", f"and {plural(more, 'node')} more", class_="quiet") if more else ""
    left = pool.asked - sum(use.asked for use in pool.use)
    told = tag("p", f"{plural(left, 'unit')} of what is asked fit on no node", class_="lost") if left else ""
    parts = (tag("h3", pool.name), tag("p", line), told, tag("div", boxes, class_="nodes"), rest, about(plan, "Pool", pool.name))
    return tag("section", parts, id=f"pool-{pool.name}")


def _node(pool: PlannedPool, use: NodeUse, count: int, servers: Mapping[str, PlannedServer]) -> Html:
    wide = min(pool.units_per_node, _CARDS_IN_A_ROW) if pool.sharing == "exclusive" else pool.units_per_node // pool.cards_per_node or 1
    head = tag("p", tag("b", f"{plural(count, 'node')}" if count > 1 else "node"), f" {use.asked} of {use.units} taken", class_="quiet")
    cells = list(_cells(use, wide, servers))
    pods = ", ".join(f"{times} x {name}" if times > 1 else name for name, times in Counter(use.pods).items()) or "empty"
    return tag("div", head, tag("div", cells, class_="cards", style=f"--wide:{wide}"), tag("p", pods, class_="quiet"), class_="node")


def _cells(use: NodeUse, wide: int, servers: Mapping[str, PlannedServer]) -> Iterator[Html]:
    """The units of a node in rows of ``wide``: a pod over the end of a row goes on in the next one."""
    place = 0
    for name in use.pods:
        server = servers[name]
        units = server.pods[0].gpus
        left, first = units, True
        while left:
            here = min(left, wide - place % wide)
            inside = tag("a", name if first else "…", href=f"#server-{name}", title=f"{name}: {plural(units, 'unit')}")
            yield tag("div", inside, class_="pod", style=f"grid-column:span {here};--hue:{hue(server.index)}")
            place, left, first = place + here, left - here, False
    yield from (tag("div", class_="free") for _ in range(use.units - place))


def hue(index: int) -> int:
    """The colour of server ``index``: neighbours in the config lie far apart on the circle (the golden angle)."""
    return (index * 137 + 95) % 360
