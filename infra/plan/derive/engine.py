"""All decisions about the engines of a stack, in order: sizes first, together for each pool, then what follows for each engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from interlock.infra.catalog.images import vllm_version
from interlock.infra.catalog.tracks import tracks
from interlock.infra.catalog.vllm_flags import comes_later
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.errors import ConfigError
from interlock.infra.facts.room import Pods, packed
from interlock.infra.plan.access import tiers_matter
from interlock.infra.plan.derive.able import unable
from interlock.infra.plan.derive.adapters import adapted, slots
from interlock.infra.plan.derive.admission import admission
from interlock.infra.plan.derive.batch import overlap, sequences, step_tokens
from interlock.infra.plan.derive.case import Case, Choice, Decide, Size
from interlock.infra.plan.derive.context import context
from interlock.infra.plan.derive.family import dialect, modalities, runner
from interlock.infra.plan.derive.order import order
from interlock.infra.plan.derive.parallel import Sizes, sizes
from interlock.infra.plan.derive.ranks import exchange
from interlock.infra.plan.derive.transfer import transfer
from interlock.infra.plan.layout import Layout, layout
from interlock.infra.plan.models import Fit, fit
from interlock.infra.plan.reasons import Reason
from interlock.infra.plan.shares import fixed_pool, shared_card

ORDER: Sequence[Decide] = (context, sequences, slots, step_tokens, overlap, exchange, dialect, admission, order, transfer)
"""What is decided after the size, each on what was decided before."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One server's engine with every argument decided."""

    args: EngineArgs
    layout: Layout
    """The pods of one replica, and the units of the GPU resource of each."""
    why: Mapping[str, Reason]
    fit: Fit | None
    """The planner's answer; None without a GPU."""

    @property
    def part(self) -> float | None:
        """Part of the card that it takes, by what is stated or decided; None where that is left to the engine."""
        return self.fit.request.gpu_memory_utilization if self.fit else self.args.gpu_memory_utilization


def most_replicas(server: ServerConfig) -> int:
    """Replicas that the pool must hold."""
    return server.autoscale.max_replicas if server.autoscale else server.replicas


def version_of(server: ServerConfig) -> str:
    """The vLLM version of the server's image; empty when it cannot be told."""
    if server.image.reference is None:
        return tracks()[server.track.value].vllm
    return server.image.vllm or vllm_version(server.image.reference) or ""


def engines(config: ClusterConfig) -> tuple[Engine, ...]:
    """Every server's engine, in the order of the config. Raises ConfigError for wishes that a model cannot meet."""
    started = [_started(config, server) for server in config.servers]
    vain = [problem for index, (case, _) in enumerate(started) for problem in unable(case, f"servers[{index}]")]
    if vain:
        raise ConfigError(vain)
    chosen = _allotted(config, [case for case, _ in started], [sizes(case) for case, _ in started])
    return tuple(_finished(case, why, size) for (case, why), size in zip(started, chosen, strict=True))


def _started(config: ClusterConfig, server: ServerConfig) -> tuple[Case, dict[str, Reason]]:
    """The case with what is decided before its size: what the model is used for, and its part of a shared card."""
    pool = next(pool for pool in config.pools if pool.name == server.pool)
    why: dict[str, Reason] = {}
    server = adapted(server, why)
    tiered = tiers_matter(config, server)
    case = Case(server, pool, version_of(server), tracks()[server.track.value].env, server.engine, most_replicas(server), tiered)
    if "gpu_memory_utilization" not in case.given:
        case = replace(case, engine=shared_card(pool, server.engine, why))
    if case.simulated:
        told = "the test-only CPU track has no bfloat16 on every processor"
        return case.with_choices(
            [Choice("dtype", "float32", told), Choice("enforce_eager", True, "a processor has no CUDA graphs")], why
        ), why
    for decide in (runner, modalities):
        case = case.with_choices(decide(case), why)
    return case, why


def _allotted(config: ClusterConfig, cases: Sequence[Case], found: Sequence[Sizes]) -> list[Size]:
    """Each server's size: the least, and the better one where its pool still holds all pods; by name, so that no order counts."""
    chosen = [each.least for each in found]
    for index in sorted(range(len(cases)), key=lambda index: cases[index].server.name):
        better = found[index].better
        if better is not None:
            trial = [*chosen[:index], better, *chosen[index + 1 :]]
            if _holds(cases[index], cases, trial):
                chosen = trial
    return chosen


def _holds(case: Case, cases: Sequence[Case], chosen: Sequence[Size]) -> bool:
    lies = [(each, layout(each.server, each.pool, units_of(each.server, size))) for each, size in zip(cases, chosen, strict=True)]
    pods = [Pods(made.units, each.server.name, each.most_replicas * made.nodes) for each, made in lies if each.pool.name == case.pool.name]
    return packed(pods, case.units, case.pool.nodes)[1] == 0


def units_of(server: ServerConfig, size: Size) -> int:
    """Units of the GPU resource of one replica."""
    return server.gpus or size.gpus


def _finished(case: Case, why: dict[str, Reason], size: Size) -> Engine:
    if case.engine.tensor_parallel_size is None:
        case = case.with_choices(size.choices, why)
    else:
        why["tensor_parallel_size"] = Reason(value=str(size.tp), reason=size.choices[0].reason)
    for decide in ORDER:
        case = case.with_choices(decide(case), why)
    lies = layout(case.server, case.pool, units_of(case.server, size))
    if lies.nodes > 1:
        why["layout"] = lies.why
    if case.simulated:
        return Engine(case.engine, lies, why, None)
    if case.shared and not comes_later("--kv-cache-memory-bytes", case.vllm):
        sized = fit(case.server, case.engine, case.pool, case.vllm, case.env).result
        case = replace(case, engine=fixed_pool(case.pool, case.engine, sized, why))
    found = fit(case.server, case.engine, case.pool, case.vllm, case.env)
    told = "; ".join((*found.result.reasons, *found.result.doubts))
    why["GPU_memory"] = Reason(value=found.result.verdict.replace("_", " "), reason=told)
    return Engine(case.engine, lies, why, found)
