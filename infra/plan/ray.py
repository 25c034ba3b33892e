"""Whether a server needs Ray: computed from what the config says of its load, its cards and what stands around the engine."""

from collections.abc import Callable, Iterator, Sequence

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.pools import Sharing
from interlock.infra.config.ray import Serve
from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.layout import Layout
from interlock.infra.plan.reasons import SET, Reason

LOW_LOAD = 50.0
"""Requests per second below which a proxy and a scheduler of its own are not worth their upkeep: a rule of thumb, not a measurement."""
OFTEN = 1.0
"""Exchanges of the model per day from which on its start decides, not its placement."""
NEEDED = "Ray"
"""The value of a decision for it."""
_MEAN = 0.5
"""Part of the longest answer that an answer takes on average, as for the batch."""

Why = Callable[[ClusterConfig, ServerConfig], Iterator[str]]


def _several_models(config: ClusterConfig, server: ServerConfig) -> Iterator[str]:
    if server.wishes.one_scaler:
        yield "several models behind one scaler (wishes.one_scaler): Kubernetes scales each workload by itself"


def _python_around(config: ClusterConfig, server: ServerConfig) -> Iterator[str]:
    if server.wishes.python_around:
        yield "Python around the engine (wishes.python_around): its steps are placed and scaled beside the engine as actors"


def _fractions(config: ClusterConfig, server: ServerConfig) -> Iterator[str]:
    share = next(pool.share for pool in config.pools if pool.name == server.pool)
    if share.kind in (Sharing.TIME_SLICING, Sharing.MPS) and (server.gpus or 1) > 1:
        told = f"gpus {server.gpus} of cards in {share.replicas} shares each"
        known = "the device plugin does not say on which card a share lies, Ray gives whole cards and fractions of one (num_gpus)"
        yield f"fractional placement ({told}): {known}"


def _low_load(config: ClusterConfig, server: ServerConfig) -> Iterator[str]:
    wishes, mean = server.wishes, server.longest_answer_seconds * _MEAN
    if wishes.requests_per_second is not None:
        load, told = wishes.requests_per_second, "wishes.requests_per_second"
    elif wishes.concurrent is not None:
        load, told = wishes.concurrent / mean, f"wishes.concurrent {wishes.concurrent} / {mean:g} s"
    else:
        return
    if load < LOW_LOAD:
        yield f"{load:.3g} requests per second ({told}), below {LOW_LOAD:g}"


def _swaps(config: ClusterConfig, server: ServerConfig) -> Iterator[str]:
    swaps = server.wishes.swaps_per_day
    if swaps is not None and swaps >= OFTEN:
        yield f"the model is exchanged {swaps:g} times a day (wishes.swaps_per_day): a Deployment exchanges it without a cluster around it"


def _mixed_cards(config: ClusterConfig, server: ServerConfig) -> Iterator[str]:
    cards = {pool.name: pool.gpu for pool in config.pools}
    mine = cards[server.pool]
    others = {cards[each.pool] for each in config.servers if each.model.id == server.model.id} - {mine}
    if others:
        kinds = ", ".join(sorted((mine, *others)))
        yield f"the model runs on mixed cards ({kinds}): replicas of one Ray deployment share one set of sizes, servers do not"


FOR: Sequence[Why] = (_several_models, _python_around, _fractions)
"""What only Ray does."""
AGAINST: Sequence[Why] = (_low_load, _swaps, _mixed_cards)
"""What makes it a burden."""


def ray_decision(config: ClusterConfig, index: int, lies: Layout) -> Reason:
    """Ray or not for ``config.servers[index]``, with what speaks for and against it; ``lies`` tells the nodes of a replica."""
    server = config.servers[index]
    needs = [told for why in FOR for told in why(config, server)]
    burdens = [told for why in AGAINST for told in why(config, server)]
    if server.serve is Serve.RAY:
        told = f"{SET}{''.join(f'; {each}' for each in needs)}"
        return Reason(value="served by Ray", reason=told, instead=f"plain pods: {'; '.join(burdens)}" if burdens else "")
    if needs:
        against = f"; against it: {'; '.join(burdens)}" if burdens else ""
        told = f"{'; '.join(needs)}{against}"
        return Reason(value=NEEDED, reason=told, instead="what is planned here: plain pods, which do none of this; set serve: ray")
    alone = f"a replica on {lies.nodes} nodes alone needs none: a LeaderWorkerSet and the engine's own executor join them"
    reasons = [*burdens, *([alone] if lies.nodes > 1 else [])] or ["one model behind one URL: nothing here needs it"]
    return Reason(
        value="no Ray", reason="; ".join(reasons), instead="a head and a proxy of its own, which can fail and stand in each request's way"
    )
