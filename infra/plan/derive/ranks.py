"""Data-parallel ranks in place of tensor-parallel ones on the same cards, and how they exchange what the experts need."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.catalog.exchanges import over_nodes
from interlock.infra.catalog.vllm_flags import flag_facts
from interlock.infra.config.wishes import Goal
from interlock.infra.plan.derive.case import Case, Choice, Size, tried
from interlock.infra.sizing.result import Verdict

_REPLACED = frozenset({"tensor_parallel_size", "enable_expert_parallel"})


def ranks(case: Case, size: Size, request: Mapping[str, Any]) -> Size:
    """``size``, or its cards as data-parallel ranks where every rank of a tensor keeps the whole cache: latent attention has one KV head.

    ``request`` holds what else the size was chosen with. Only for throughput: one answer alone is written faster by TP.
    """
    facts = case.facts
    if (
        case.server.wishes.goal is not Goal.THROUGHPUT
        or facts is None
        or "mla" not in facts.mixers
        or not facts.experts
        or size.tp == 1
        or size.pp * size.dp != 1
        or {"data_parallel_size", "enable_expert_parallel"} & case.given
    ):
        return size
    spread = {**request, "tp": 1, "pp": 1, "dp": size.tp, "expert_parallel": True}
    one, many = tried(case, **{**request, "tp": size.tp, "pp": 1}), tried(case, **spread)
    if many.verdict is not Verdict.FITS or one.kv_tokens is None or many.kv_tokens is None:
        return size
    held, before = int(many.kv_tokens.low) * size.tp, int(one.kv_tokens.high)
    if held <= before:
        return size
    told = (
        f"goal throughput: each rank of a tensor would keep the whole latent cache, {before} tokens together; "
        f"{size.tp} data-parallel ranks hold {size.tp} x {int(many.kv_tokens.low)}"
    )
    choices = (
        Choice("tensor_parallel_size", 1, told, f"TP {size.tp}: each answer is written sooner"),
        Choice("data_parallel_size", size.tp, told, "as many replicas: each would need room for all experts"),
        Choice("enable_expert_parallel", True, f"whole experts, spread over the {size.tp} ranks"),
        *(choice for choice in size.choices if choice.field not in _REPLACED),
    )
    return replace(size, tp=1, dp=size.tp, choices=choices)


def exchange(case: Case) -> Iterator[Choice]:
    """``all2all_backend`` is left to the engine: the others need libraries and a network that a config does not show."""
    if case.engine.dp == 1 or not case.engine.enable_expert_parallel or case.simulated or not case.takes("all2all_backend"):
        return
    usual, card = (flag_facts("--all2all-backend", case.vllm) or {}).get("default"), case.resolved.gpu
    role = case.server.transfer.role.value if case.server.transfer else ""
    wide = over_nodes(card.compute_capability, role, case.vllm) if case.engine.gpus > case.units and card is not None else ()
    needs = {each.needs: " or ".join(other.backend for other in wide if other.needs == each.needs) for each in wide}
    instead = "; ".join(f"{names}: needs {told}" for told, names in needs.items())
    if usual:
        yield Choice("all2all_backend", None, f"the engine's own {usual}: it runs on every card and network", instead)
