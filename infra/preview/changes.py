"""What a change of the config does: to objects, servers, GPUs, requests that run, keys, findings and the bill."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from interlock.infra.manifests.differences import ObjectChange, What, differences
from interlock.infra.manifests.placed import Manifest
from interlock.infra.plan.replacing import step_seconds, steps, way
from interlock.infra.plan.types import ClusterPlan, PlannedServer
from interlock.infra.preview.preview import Previewed
from interlock.infra.rules.findings import Finding
from interlock.infra.values import binary

HOURS = 730
"""Hours of a month: 365 x 24 / 12."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The pods of a server are replaced."""

    steps: int
    """Steps that follow one another."""
    seconds: float
    """Of each, at the likely start."""
    told: str
    """In which order, and who answers meanwhile."""
    silent: bool
    """Whether nobody answers meanwhile."""


@dataclass(frozen=True, slots=True)
class ServerChange:
    """One server that differs."""

    name: str
    what: What
    before: Mapping[str, str]
    """What a person asks about it, by name; empty for a new server."""
    after: Mapping[str, str]
    """The same afterwards; empty for one that is removed."""
    restart: Restart | None = None

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """(name, before, after) of what differs."""
        names = dict.fromkeys((*self.before, *self.after))
        return [
            (name, self.before.get(name, ""), self.after.get(name, "")) for name in names if self.before.get(name) != self.after.get(name)
        ]


@dataclass(frozen=True, slots=True)
class Cards:
    """What a pool's servers ask for, at their most replicas."""

    pool: str
    gpu: str
    before: int
    after: int
    monthly: float | None
    """What the difference costs in a month, in the unit of the price table; None without a price. Nodes that stay idle cost as well."""


@dataclass(frozen=True, slots=True)
class Before:
    """What is there: nothing, a plan with its objects, or objects alone (of a cluster)."""

    plan: ClusterPlan | None = None
    objects: Sequence[Manifest] = ()

    @classmethod
    def of(cls, made: Previewed) -> "Before":
        """A plan that was deployed."""
        return cls(made.plan, [draft.manifest for draft in made.objects.drafts])


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that a change does."""

    objects: tuple[ObjectChange, ...]
    servers: tuple[ServerChange, ...]
    cards: tuple[Cards, ...]
    tenants: tuple[tuple[str, What], ...]
    """Tenants whose keys are made or removed."""
    new: tuple[Finding, ...]
    """Findings that the change brings, those that are waived left out."""
    gone: tuple[Finding, ...]
    """Findings that it removes."""

    @property
    def nothing(self) -> bool:
        """Whether a deployment would do nothing."""
        return not (self.objects or self.servers or self.tenants)


def changes(
    before: Before, after: Previewed, prices: Mapping[str, float] | None = None, *, unread: Callable[[Manifest], bool] | None = None
) -> Changes:
    """What a deployment of ``after`` does where ``before`` is there. ``prices`` by GPU name, per hour.

    ``unread``: objects of which it is not known what is there; nothing is said of them.
    """
    old = before.plan
    objects = differences(before.objects, [each.manifest for each in after.objects.drafts if not (unread and unread(each.manifest))])
    if old is None and before.objects:
        # Of what was there only the objects are known.
        restarted = [ServerChange(name, What.CHANGED, {}, {}, each) for name, each in _restarts(after.plan, objects).items()]
        return Changes(tuple(objects), tuple(restarted), (), (), (), ())
    found = {_said(each): each for each in old.findings if not each.waiver} if old else {}
    said = {_said(each): each for each in after.plan.findings if not each.waiver}
    return Changes(
        tuple(objects),
        tuple(_servers(old, after.plan, objects)),
        tuple(_cards(old, after.plan, prices or {})),
        tuple(_tenants(old, after.plan)),
        tuple(each for key, each in said.items() if key not in found),
        tuple(each for key, each in found.items() if key not in said),
    )


def _said(finding: Finding) -> tuple[str, str, str, str]:
    """What makes it the same finding: places in lists move."""
    return finding.code, finding.subject.kind, finding.subject.name, finding.summary


def _servers(old: ClusterPlan | None, new: ClusterPlan, objects: list[ObjectChange]) -> Iterator[ServerChange]:
    before, after = ({each.name: each for each in plan.servers} if plan else {} for plan in (old, new))
    restarted = _restarts(new, objects)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was is None or now is None:
            what = What.REMOVED if now is None else What.ADDED
            yield ServerChange(name, what, told(was) if was else {}, told(now) if now else {})
            continue
        change = ServerChange(name, What.CHANGED, told(was), told(now), restarted.get(name))
        if change.rows or change.restart:
            yield change


def _restarts(plan: ClusterPlan, objects: list[ObjectChange]) -> dict[str, Restart]:
    """The servers whose pods are replaced, by name."""
    rolled = {(each.kind, each.namespace, each.name): each for each in objects if each.restarts}
    found = ((server, rolled.get((server.workload[1], server.namespace, server.name))) for server in plan.servers)
    return {server.name: _restart(server, change) for server, change in found if change}


def _restart(server: PlannedServer, rolled: ObjectChange) -> Restart:
    silent = rolled.what is What.REPLACED or (not server.surge and (server.recreate or server.max_replicas <= 1))
    order = "the workload is deleted and made anew: none answers meanwhile" if rolled.what is What.REPLACED else way(server)
    return Restart(1 if rolled.what is What.REPLACED else steps(server), step_seconds(server), order, silent)


def told(server: PlannedServer) -> dict[str, str]:
    """What a person asks about a server, as text; what is not decided is left out."""
    engine, config = server.args.engine, server.config
    route = config.route
    replicas = str(server.replicas) if server.replicas == server.max_replicas else f"{server.replicas} to {server.max_replicas}"
    rows = {
        "model": server.model_id,
        "revision": config.model.revision,
        "served as": server.args.served_model_name,
        "image": server.image,
        "pool": server.pool,
        "replicas": replicas,
        "GPUs each": f"{server.gpus} (TP {engine.tp} x PP {engine.pp} x DP {engine.dp})",
        "GPUs": str(server.gpus * server.max_replicas),
        "max-model-len": engine.max_model_len,
        "max-num-seqs": engine.max_num_seqs,
        "gpu-memory-utilization": engine.gpu_memory_utilization,
        "kv-cache-dtype": engine.kv_cache_dtype,
        "weights": binary(server.weight_bytes) if server.weight_bytes else None,
        "memory": server.memory,
        "route": f"{route.kind} {route.host}{' '.join(route.paths)} {route.timeout_seconds} s" if route else None,
        "keys": ", ".join(each.name for each in server.access.tenants) or "no tenant" if server.access else "not asked for",
        "longest answer": f"{server.times.longest_answer} s",
        "start, cold": f"{server.start.cold.total.likely:.0f} s",
    }
    return {name: str(value) for name, value in rows.items() if value is not None}


def _cards(old: ClusterPlan | None, new: ClusterPlan, prices: Mapping[str, float]) -> Iterator[Cards]:
    before, after = ({each.name: each for each in plan.pools} if plan else {} for plan in (old, new))
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        one = now or was
        asked = was.asked if was else 0, now.asked if now else 0
        if one and asked[0] != asked[1]:
            price, shares = prices.get(one.gpu), max(1, one.units_per_node // max(1, one.cards_per_node))
            monthly = None if price is None else (asked[1] - asked[0]) / shares * price * HOURS
            yield Cards(name, one.gpu, *asked, monthly)


def _tenants(old: ClusterPlan | None, new: ClusterPlan) -> Iterator[tuple[str, What]]:
    before, after = _named(old) if old else set(), _named(new)
    yield from ((name, What.REMOVED) for name in sorted(before - after))
    yield from ((name, What.ADDED) for name in sorted(after - before))


def _named(plan: ClusterPlan) -> set[str]:
    return {tenant.name for server in plan.servers if server.access for tenant in server.access.tenants}
