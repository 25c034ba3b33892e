"""Blocks, tokens and concurrency for a given amount of KV memory, and whether one request fits."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from interlock.infra.catalog.versions import since
from interlock.infra.sizing.kv.groups import Group, groups_of, is_packed
from interlock.infra.sizing.kv.pages import KvSpec, Settings, layer_specs
from interlock.infra.sizing.model.config import ceil_div
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.layers import Cache, KvLayer
from interlock.infra.sizing.weights.rank import stage_layers


@dataclass(frozen=True, slots=True)
class KvPlan:
    """What the engine would lay out."""

    fits: bool
    blocks: int
    tokens: int
    concurrency: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The groups of a model, and what one block id costs on each pipeline stage."""

    settings: Settings
    groups: int
    """Number of groups."""
    kinds: tuple[tuple[tuple[KvSpec, ...], int], ...]
    """The distinct kinds of groups with how often each occurs."""
    block_bytes: tuple[int, ...]
    """Bytes of one block id on each pipeline stage; a stage without caches is left out."""
    block_size: int
    """Tokens of the smallest block."""
    bytes_per_token: int
    """Bytes per token of context over all layers of the heaviest stage."""
    charged: int = 0
    """Bytes that a request is charged per block, when it is not what a block costs (packed pages before 0.29, pipelines of 0.14 on)."""
    weights: tuple[int, ...] = ()
    """Before 0.27, then: bytes of a block in each kind of group, by which the logged concurrency weighs their blocks; the first is full
    attention's. (What the engine keeps for itself weighs by one layer of each group; nobody reads it.)"""

    def blocks_per_request(self, length: int) -> int:
        """Blocks one request holds at most, over all groups."""
        return sum(count * max(spec.blocks(length, self.settings) for spec in specs) for specs, count in self.kinds)

    def needed(self, length: int) -> int:
        """Bytes of one request on the stage that needs most."""
        return self.blocks_per_request(length) * (self.charged or max(self.block_bytes, default=0))

    def fits(self, length: int, available: int) -> bool:
        """Whether one request of that length is admitted."""
        if self.charged:
            return self.needed(length) <= available
        return self.blocks_per_request(length) <= self.usable_blocks(available)

    def share(self, length: int) -> int:
        """Blocks of the pool that a request counts for in the concurrency."""
        if not self.weights:
            return self.blocks_per_request(length)
        weighed = zip(self.kinds, self.weights, strict=True)
        bytes_ = sum(count * max(spec.blocks(length, self.settings) for spec in specs) * size for (specs, count), size in weighed)
        return ceil_div(bytes_, self.weights[0])

    def usable_blocks(self, available: int) -> int:
        """Blocks that requests can use: from 0.29 one is held back."""
        held = 1 if since("block_held_back", self.settings.version) else 0
        return min((available // size - held for size in self.block_bytes), default=0)


@lru_cache(maxsize=4096)
def _layout(facts: ModelFacts, settings: Settings, max_model_len: int, drafts: tuple[KvLayer, ...]) -> Layout:
    groups = groups_of(layer_specs(facts, settings, max_model_len, drafts), settings)
    cut = [stage_layers(facts.layers, settings.pp, i, settings.layer_parts) for i in range(settings.pp)]
    stages = [[group.on_stage(layers) for group in groups] for layers in cut]
    sizes = [max((group.block_bytes for group in stage), default=0) for stage in stages]
    per_token = [sum(spec.token_bytes for group in stage for _, spec in group.members) for stage in stages]
    kinds = Counter(group.specs for group in groups)
    if groups and is_packed(groups[0]) and not since("packed_by_widest_group", settings.version):
        return _packed_layout(groups, stages, settings, max(per_token, default=0))
    return Layout(
        settings=settings,
        groups=len(groups),
        kinds=tuple(kinds.items()),
        block_bytes=tuple(size for size in sizes if size),
        block_size=min((group.block_size for group in groups), default=settings.block_size or 16),
        bytes_per_token=max(per_token, default=0),
        charged=_charged_whole(groups, settings),
    )


def _charged_whole(groups: Sequence[Group], settings: Settings) -> int:
    """0.14 to 0.16 in a pipeline: bytes per block of all stages together, which are compared with the smallest worker's memory."""
    if settings.pp == 1 or not since("pipeline_checks_all_layers", settings.version):
        return 0
    return max((group.block_bytes for group in groups), default=0)


def _packed_layout(groups: Sequence[Group], stages: Sequence[Sequence[Group]], settings: Settings, per_token: int) -> Layout:
    """Before 0.29 a block had a slot for each page of each size that any group needs
    (vLLM: ``kv_cache_utils.py::_get_kv_cache_config_packed``, ``_max_memory_usage_bytes_from_groups``)."""
    ordered = sorted(groups, key=lambda group: group.members[0][1].cache is not Cache.MLA)
    full = ordered[0]
    sizes = sorted({spec.page for _, spec in full.members})
    pages = [[_slots(group, sizes) for group in stage] for stage in stages]
    block = [sum(size * max(slots[size] for slots in stage) for size in sizes) for stage in pages]
    repeats = max(max(_slots(group, sizes).values()) for group in ordered)
    kinds: dict[tuple[tuple[KvSpec, ...], int], int] = {}
    for group in ordered:
        key = (group.specs, sum(size * count for size, count in _slots(group, sizes).items()))
        kinds[key] = kinds.get(key, 0) + 1
    return Layout(
        settings=settings,
        groups=len(groups),
        kinds=tuple((specs, count) for (specs, _), count in kinds.items()),
        block_bytes=tuple(size for size in block if size),
        block_size=min(group.block_size for group in groups),
        bytes_per_token=per_token,
        charged=repeats * sum(sizes),
        weights=tuple(weight for _, weight in kinds) if not since("concurrency_in_blocks", settings.version) else (),
    )


def _slots(group: Group, sizes: Sequence[int]) -> Counter[int]:
    """Pages of a group by size, each padded to the next size of full attention."""
    return Counter(next((size for size in sizes if size >= spec.page), sizes[-1]) for _, spec in group.members)


def layout(facts: ModelFacts, settings: Settings, max_model_len: int, drafts: Sequence[KvLayer] = ()) -> Layout:
    """Groups of the whole model, and what they cost on each pipeline stage."""
    has_states = any(layer.state for layer in facts.kv_layers)  # only their blocks depend on the length
    return _layout(facts, settings, max_model_len if has_states else 0, tuple(drafts))


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


def longest(found: Layout, available: int, limit: int) -> int:
    """Longest request, up to ``limit`` tokens, that ``available`` bytes hold."""
    return longest_length(limit, lambda length: found.fits(length, available)) if available > 0 else 0


def plan(found: Layout, available: int, max_model_len: int) -> KvPlan:
    """Lay out ``available`` bytes on every GPU for requests of up to ``max_model_len`` tokens."""
    if not found.block_bytes:
        return KvPlan(fits=True, blocks=1, tokens=0, concurrency=0.0)
    blocks = max(0, min(available // size for size in found.block_bytes))
    request = found.share(max_model_len)
    concurrency = blocks / request if request else 0.0
    if since("tokens_from_concurrency", found.settings.version):
        tokens = int(concurrency * max_model_len)
    else:
        tokens = blocks // found.groups * found.block_size * found.settings.context_parallel
    return KvPlan(available > 0 and found.fits(max_model_len, available), blocks, tokens, concurrency)
