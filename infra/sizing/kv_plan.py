"""Blocks, tokens and concurrency for a given amount of KV memory, and whether one request fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from interlock.infra.catalog.vllm_defaults import switch
from interlock.infra.sizing.facts import ModelFacts
from interlock.infra.sizing.kv_groups import Group, groups_of
from interlock.infra.sizing.kv_specs import Settings, layer_specs
from interlock.infra.sizing.layers import KvLayer
from interlock.infra.sizing.weights import stage_layers


@dataclass(frozen=True, slots=True)
class KvPlan:
    """What the engine would lay out."""

    fits: bool
    blocks: int
    block_size: int
    tokens: int
    concurrency: float
    needed_bytes: int
    """One request at the full length, on the rank that needs most."""
    longest: int
    """Longest length that fits, at most the one asked."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The groups of a model and of each pipeline stage."""

    settings: Settings
    groups: tuple[Group, ...]
    stages: tuple[tuple[Group, ...], ...]

    @property
    def block_bytes(self) -> tuple[int, ...]:
        """Bytes of one block id on each stage."""
        return tuple(max((group.block_bytes for group in groups), default=0) for groups in self.stages)

    def blocks_per_request(self, length: int) -> int:
        """Blocks one request holds at most, over all groups."""
        return sum(group.blocks(length, self.settings) for group in self.groups)

    def needed(self, length: int) -> int:
        """Bytes of one request on the stage that needs most."""
        return self.blocks_per_request(length) * max(self.block_bytes, default=0)

    def bytes_per_token(self) -> int:
        """Bytes per token of context that grows without bound (full attention), on the heaviest stage."""
        heavy = max(self.stages, key=lambda groups: sum(g.block_bytes for g in groups), default=())
        return sum(spec.token_bytes for group in heavy for _, spec in group.members if spec.token_bytes)


def layout(facts: ModelFacts, settings: Settings, max_model_len: int, drafts: Sequence[KvLayer] = ()) -> Layout:
    """Groups of the whole model, cut by pipeline stage."""
    groups = groups_of(layer_specs(facts, settings, max_model_len, drafts), settings)
    stages = tuple(tuple(group.on_stage(stage_layers(facts.layers, settings.pp, i)) for group in groups) for i in range(settings.pp))
    return Layout(settings, groups, stages)


def longest_length(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest length up to ``limit`` for which ``fits`` holds, 0 when none does; ``fits`` must be monotone."""
    low, high = 0, max(limit, 0)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def plan(found: Layout, available: Sequence[int], max_model_len: int) -> KvPlan:
    """Lay out ``available`` bytes (one figure per pipeline stage) for requests of up to ``max_model_len`` tokens."""
    settings, sizes = found.settings, found.block_bytes
    held = 1 if switch("block_held_back", settings.version) else 0
    per_stage = [(memory, size) for memory, size in zip(available, sizes, strict=True) if size]
    if not per_stage:
        return KvPlan(True, 1, settings.block_size or 16, 0, 0.0, 0, max_model_len)
    blocks = max(0, min(memory // size for memory, size in per_stage))
    usable = min((memory - held * size) // size for memory, size in per_stage)

    def fits(length: int) -> bool:
        return found.blocks_per_request(length) <= usable

    request = found.blocks_per_request(max_model_len)
    ok = min(memory for memory, _ in per_stage) > 0 and request <= usable
    concurrency = blocks / request if request else 0.0
    return KvPlan(
        fits=ok,
        blocks=blocks,
        block_size=min(group.block_size for group in found.groups),
        tokens=_tokens(found, blocks, concurrency, max_model_len),
        concurrency=concurrency,
        needed_bytes=max(request * size for _, size in per_stage),
        longest=max_model_len if ok else longest_length(max_model_len, fits),
    )


def _tokens(found: Layout, blocks: int, concurrency: float, length: int) -> int:
    if switch("tokens_from_concurrency", found.settings.version):
        return int(concurrency * length)
    smallest = min(group.block_size for group in found.groups)
    return blocks // len(found.groups) * smallest * found.settings.context_parallel
