"""Grouping of layers that share a block table (vLLM: ``v1/core/kv_cache_planning.py``, before 0.30 ``kv_cache_utils.py``)."""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock.infra.sizing.kv.pages import PACKED, KvSpec, Settings
from interlock.infra.sizing.model.config import ceil_div
from interlock.infra.sizing.model.layers import Cache

_FULL_LIKE = (Cache.FULL, Cache.MLA, Cache.INDEXER)


@dataclass(frozen=True, slots=True)
class Group:
    """Layers with one block table."""

    members: tuple[tuple[int, KvSpec], ...]
    """(layer index, cache) pairs."""

    def on_stage(self, layers: range) -> "Group":
        """What of it a pipeline stage holds."""
        return Group(tuple(member for member in self.members if member[0] in layers))

    @property
    def block_bytes(self) -> int:
        """Bytes that one block id costs."""
        return sum(spec.page for _, spec in self.members)

    @property
    def block_size(self) -> int:
        """Tokens per block."""
        return min(spec.block for _, spec in self.members)

    @property
    def specs(self) -> tuple[KvSpec, ...]:
        """Its caches without repetition."""
        return tuple(dict.fromkeys(spec for _, spec in self.members))


def is_packed(group: Group) -> bool:
    """Whether its pages lie side by side in a block."""
    return all(spec.kind == PACKED for _, spec in group.members)


def _same_type(specs: Sequence[KvSpec]) -> bool:
    """All layers need the same number of token slots, whatever their widths."""
    first = specs[0]
    if len({spec.block for spec in specs}) > 1:
        return False
    if first.cache in _FULL_LIKE:
        return all(spec.cache in _FULL_LIKE for spec in specs)
    if first.cache is Cache.STATE:
        return all(spec.cache is Cache.STATE and (spec.page, spec.state_blocks) == (first.page, first.state_blocks) for spec in specs)
    return all(spec.cache is first.cache and spec.window == first.window for spec in specs)


def groups_of(specs: Sequence[tuple[int, KvSpec]], settings: Settings) -> tuple[Group, ...]:
    """The groups of a model. Layers that slide are charged as full attention when the hybrid manager is off."""
    if not specs:
        return ()
    shared: dict[KvSpec, KvSpec] = {}
    members = [(layer, shared.setdefault(spec, spec)) for layer, spec in specs]
    kinds = {spec.cache for _, spec in members}
    if settings.disable_hybrid and kinds & set(_FULL_LIKE):
        members = [(layer, shared.setdefault(spec.as_full(), spec.as_full())) for layer, spec in members]
    if _same_type([spec for _, spec in members]):
        return (Group(tuple(members)),)
    if all(spec.kind == PACKED for _, spec in members):
        return _packed(members)
    largest = max(spec.page for _, spec in members)
    members = [(layer, spec if spec.page == largest else _shared(shared, spec.with_page(largest))) for layer, spec in members]
    return _cut(members)


def _shared(seen: dict[KvSpec, KvSpec], spec: KvSpec) -> KvSpec:
    return seen.setdefault(spec, spec)


def _buckets(members: Sequence[tuple[int, KvSpec]]) -> list[list[tuple[int, KvSpec]]]:
    found: dict[KvSpec, list[tuple[int, KvSpec]]] = {}
    for member in members:
        found.setdefault(member[1], []).append(member)
    return list(found.values())


def _cut(members: Sequence[tuple[int, KvSpec]]) -> tuple[Group, ...]:
    """Groups of equal size: as many layers as the smallest bucket, or as the largest when it is less than 1.5 times that."""
    buckets = _buckets(members)
    smallest, largest = min(map(len, buckets)), max(map(len, buckets))
    size = largest if largest < smallest * 1.5 else smallest
    groups: list[Group] = []
    for bucket in buckets:
        count = ceil_div(len(bucket), size)
        groups += [Group(tuple(bucket[i::count])) for i in range(count)]
    return tuple(groups)


def _packed(members: Sequence[tuple[int, KvSpec]]) -> tuple[Group, ...]:
    """Mixed page sizes side by side in a block: layers with the same blocks and window form a bucket; buckets are cut into groups of
    about as many repeats of their pattern of page sizes (``_get_packed_kv_cache_groups``)."""
    buckets: dict[tuple[Cache, int, int], dict[int, list[tuple[int, KvSpec]]]] = {}
    for member in members:
        spec = member[1]
        buckets.setdefault((spec.cache, spec.block, spec.window), {}).setdefault(spec.page, []).append(member)
    balanced = {key: pages for key, pages in buckets.items() if len({len(found) for found in pages.values()}) == 1}
    repeats = {key: len(next(iter(pages.values()))) for key, pages in balanced.items()}
    floor = max((repeats[key] for key, pages in balanced.items() if len(pages) > 1), default=0)
    size = _least_padding(list(repeats.values()), floor) if floor else max(map(len, (m for p in buckets.values() for m in p.values())))
    groups: list[Group] = []
    for key, pages in buckets.items():
        count = ceil_div(repeats[key], size) if key in balanced else 1
        groups += [Group(tuple(member for found in pages.values() for member in found[i::count])) for i in range(count)]
    return tuple(groups)


def _least_padding(values: Sequence[int], floor: int) -> int:
    """The size from ``floor`` up for which rounding all values up to multiples of it adds least; the larger of two equals."""
    return min(range(max(1, floor), max(*values, floor) + 1), key=lambda size: (sum(-value % size for value in values), -size))
