"""CUDA graphs, and what PyTorch does not see: context, NCCL, workspaces, buffers of the model runner."""

from interlock.infra.catalog.vllm_defaults import switch
from interlock.infra.sizing.defaults import Resolved
from interlock.infra.sizing.result import Estimate
from interlock.infra.values import GIB

GRAPH_SOURCE = "logged estimates of 0.20 and later; v1/worker/gpu/cudagraph_utils.py"
OTHER_SOURCE = "logs of 0.10 to 0.33 by tensor parallel size; 0.225 GiB (0.26) and 0.146 GiB + sampler state (0.33) on an H200"


def graphs(found: Resolved) -> tuple[Estimate, str]:
    """GiB that the estimate of CUDA graphs takes out of the KV budget."""
    counted = switch("graphs_in_budget_v2" if found.v2 else "graphs_in_budget_v1", found.version)
    if found.eager:
        return Estimate(low=0, likely=0, high=0), "eager: no graphs"
    if not counted:
        return Estimate(low=0, likely=0, high=0), "not taken out of the KV budget in this version (comes on top of the utilization)"
    facts = found.facts
    scale = 1.0
    if facts is not None and facts.layers:
        scale = max(0.5, facts.layers / 32) * (1.6 if facts.experts else 1.0) * (1.3 if facts.hybrid else 1.0)
    small = 0.5 if found.sequences < 64 else 1.0
    likely = 0.45 * scale * small
    return Estimate(low=0.1 * scale * small, likely=likely, high=1.0 * scale), "by layers and batch sizes captured"


def sampler_state_bytes(found: Resolved) -> float:
    """Per-sequence state of the V2 runner's sampler: 4.5 bytes per vocabulary entry (0.33, measured: 256 against 1,024 sequences)."""
    if found.facts is None or not found.v2 or not switch("consumed_accounting", found.version):
        return 0.0
    return 4.5 * found.facts.vocab_size * found.sequences


def non_torch(found: Resolved) -> tuple[Estimate, str]:
    """GiB outside PyTorch's allocator (since 0.27: all that is consumed besides weights)."""
    tp, pp = found.request.tp, found.request.pp
    state = sampler_state_bytes(found) / GIB
    base = (0.1, 0.2, 0.5) if found.version >= (0, 20, 0) else (0.02, 0.1, 0.3)
    linked = found.gpu is None or found.gpu.nvlink
    if tp > 1:
        group = (0.3, 0.5, 1.4) if tp == 2 else (0.5, 1.2, 2.2) if linked else (0.1, 0.7, 1.8)
        base = tuple(a + b for a, b in zip(base, group, strict=True))  # type: ignore[assignment]
    if found.request.dp > 1 and found.request.expert_parallel:
        others = found.request.dp - 1
        base = (base[0], base[1] + 0.15 * others, base[2] + 0.5 * others)
    if pp > 1:
        base = (base[0] + 0.05, base[1] + 0.2, base[2] + 0.6)
    low, likely, high = (figure + state for figure in base)
    how = f"tensor parallel {tp}" + (f" + sampler state of {found.sequences} sequences" if state else "")
    return Estimate(low=low, likely=likely, high=high), how


def start_gib(found: Resolved) -> Estimate:
    """GiB gone from the card before the engine takes its share: context, cuBLAS, NCCL (0.5 to 0.7 at TP 1, 2.2 seen at TP 8)."""
    ranks = found.request.tp * found.request.pp
    unified = found.gpu is not None and found.gpu.unified_memory
    per_rank = 0.12 * min(ranks - 1, 15)
    return Estimate(low=0.15, likely=0.55 + per_rank, high=0.75 + 1.6 * per_rank + (10.0 if unified else 0.0))


def growth_gib(found: Resolved) -> Estimate:
    """GiB taken after the budget is fixed: graphs that were not counted, buffers of collectives."""
    ranks = found.request.tp * found.request.pp
    counted = switch("graphs_in_budget_v2" if found.v2 else "graphs_in_budget_v1", found.version)
    uncounted = 0.0 if found.eager or found.v0 else 0.35 if counted else 0.6
    return Estimate(low=0.0, likely=uncounted * 0.5, high=uncounted + 0.15 * min(ranks - 1, 15))
