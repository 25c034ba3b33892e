"""CUDA graphs, and what PyTorch does not see: context, NCCL, workspaces, buffers of the model runner."""

from functools import lru_cache
from math import ceil

from interlock.infra.catalog.versions import since, value
from interlock.infra.sizing.result import Estimate
from interlock.infra.sizing.settings import Resolved
from interlock.infra.sizing.weights.rank import whole_weights
from interlock.infra.values import GIB

GRAPH_SOURCE = "logged estimates of 0.20 and later; v1/worker/gpu/cudagraph_utils.py"
# Graphs at 256 sequences: 51 piecewise, 35 whole.
_USUAL_GRAPHS = 86
# What the estimate of a 32-layer model takes in GiB. The runner samples two captures of each mode (first + (n - 1) x second). First the
# largest: whole graphs (up to 262 MiB in logs of 0.19, whatever the layers), and piecewise ones, which hold a batch of the largest size
# (100 to 212 MiB at 512 tokens); then all others at the usual count (6 to 10 MiB each).
_WHOLE_GIB, _PIECES_GIB, _OTHERS_GIB, _LARGEST = 0.2, 0.15, 0.4, 512
# V1 runner, expert parallelism over data-parallel engines: the second capture of each mode holds buffers of the exchange, and the
# estimate takes it for every graph (first + (n - 1) x second): 118 GiB are reported on B200s, of which little is used.
_EXCHANGED_GIB = 0.8
# What an engine that loads holds on the host per byte of weights, where that is the GPU's memory too (page cache, pinned buffers).
_HOST_SHARE = (0.0, 0.027, 0.08)
# What the warm-up of the sampler and the allocator's pieces take beyond the budget: 0.34 to 0.45 on an H200 where the sampler's peak is
# the profile's (0.26), less elsewhere.
_WARM_UP_GIB = 0.45
# Memory that all GPUs address at once comes in pieces of 512 MiB on Hopper and later (cuMulticastGetGranularity).
_MULTICAST_GIB = 0.5
# Cards that are linked in pairs, without the switch that multicast needs.
_BRIDGED = ("H100 NVL",)
# MiB that the fused all-reduce takes at most, by compute capability and ranks
# (compilation/passes/fusion/allreduce_rms_fusion.py, FI_ALLREDUCE_FUSION_MAX_SIZE_MB).
_FUSED_MIB = {9.0: {2: 64, 4: 2, 8: 1}, 10.0: {2: 64, 4: 32, 8: 1}, 10.3: {2: 64, 4: 64, 8: 4}}

# Cards up to this size are bought without NVLink.
_LARGEST_CONSUMER_GIB = 33.0
OTHER_SOURCE = "fitted on logs of 0.6 to 0.33 by tensor parallel size (infra/catalog/overheads.json)"


def _largest_batch(found: Resolved) -> int:
    """Tokens of the largest batch that is captured: twice the sequences, up to the version's limit."""
    largest = value("graph_limit_blackwell", found.version) if 10.0 <= found.capability < 11.0 else _LARGEST
    return int(min(2 * found.sequences * (1 + found.request.speculative_tokens), largest, max(found.batched_tokens, 1)))


def _graph_sizes(found: Resolved) -> tuple[int, int]:
    """(batch sizes captured piecewise, sizes captured whole): 1, 2, 4, eights to 256, then sixteens up to the largest batch
    (vLLM: ``config/vllm.py::_set_cudagraph_sizes``)."""
    whole = found.sequences * (1 + found.request.speculative_tokens) if since("whole_graphs", found.version) else 0
    return _counted(_largest_batch(found), value("graph_step", found.version), whole)


@lru_cache(maxsize=1024)
def _counted(limit: int, step: int, whole: int) -> tuple[int, int]:
    taken = [size for size in (1, 2, 4, *range(8, 256, 8), *range(256, limit + 1, step)) if size <= limit]
    return len(taken), sum(size <= whole for size in taken)


def graph_law(found: Resolved) -> float:
    """GiB of the estimate: the first captures, and further graphs by their number and the layers of a stage."""
    layers = found.facts.layers / found.request.pp if found.facts is not None and found.facts.layers else 32
    first = _WHOLE_GIB + _PIECES_GIB * _largest_batch(found) / _LARGEST
    return first + _OTHERS_GIB * sum(_graph_sizes(found)) / _USUAL_GRAPHS * layers / 32


def graphs(found: Resolved) -> tuple[Estimate, str]:
    """GiB that the estimate of CUDA graphs takes out of the KV budget."""
    if found.eager:
        return Estimate(low=0, likely=0, high=0), "eager: no graphs"
    if not graphs_counted(found) or not found.request.graph_estimate:
        return Estimate(low=0, likely=0, high=0), "not taken out of the KV budget (they come on top of the utilization)"
    facts = found.facts
    pieces, whole = _graph_sizes(found)
    usual = graph_law(found)
    low, likely, high = (usual * times for times in found.overheads.of("graphs"))
    how = f"{pieces} piecewise and {whole} whole graphs of {facts.layers if facts else 0} layers"
    if found.request.dp > 1 and found.request.expert_parallel and not found.v2:
        high += _EXCHANGED_GIB * (pieces + whole)
        how += f"; the estimate extrapolates a capture that may hold {_EXCHANGED_GIB:g} GiB of the experts' exchange"
    return Estimate(low=low, likely=likely, high=high), how


def graphs_counted(found: Resolved) -> bool:
    """Whether this version takes graphs out of the KV budget."""
    return since("graphs_in_budget_v2", found.version) if found.v2 else since("graphs_in_budget_v1", found.version)


def sampler_state_bytes(found: Resolved) -> float:
    """Per-sequence state of the V2 runner's sampler: 4.5 bytes per vocabulary entry (0.33, measured: 256 against 1,024 sequences)."""
    if found.facts is None or not found.v2 or not since("consumed_accounting", found.version):
        return 0.0
    return 4.5 * found.facts.vocab_size * found.sequences


def other_names(found: Resolved) -> tuple[str, ...]:
    """Names of the fitted figures that make up the memory outside PyTorch's allocator, the last of them the one that a log settles."""
    tp, pp = found.request.tp, found.request.pp
    alone = f"{'stage' if pp > 1 and tp == 1 else 'other'} {_accounting(found)}"
    if tp == 1:
        return (alone,)
    ranks = 4 if tp > 2 else 2
    if fused_workspace(found) is not None:
        return alone, f"fused {ranks}"
    return alone, f"group {ranks} {'linked' if _linked(found) else 'unlinked'}"


def non_torch(found: Resolved) -> tuple[Estimate, str]:
    """GiB outside PyTorch's allocator (since 0.27: all that is consumed besides weights)."""
    tp, pp = found.request.tp, found.request.pp
    state = sampler_state_bytes(found) / GIB
    figures = [found.overheads.of(name) for name in other_names(found)]
    said = [f"tensor parallel {tp}"]
    workspace = fused_workspace(found) if tp > 1 else None
    if workspace is not None:
        figures.append(workspace)
        said.append("buffers of the fused all-reduce")
    if found.request.dp > 1 and found.request.expert_parallel:
        others = found.request.dp - 1
        figures.append((0.0, 0.15 * others, 0.3 * others))
    if pp > 1 and tp > 1:
        figures.append((0.05, 0.2, 0.6))
    if shares_with_cpu(found):
        figures += [found.overheads.of("host"), of_page_cache(found)]
        said.append("the engine's own host memory")
    low, likely, high = (sum(figure[i] for figure in figures) + state for i in range(3))
    said += [f"sampler state of {found.sequences} sequences"] if state else []
    return Estimate(low=low, likely=likely, high=high), " + ".join(said)


def of_page_cache(found: Resolved) -> tuple[float, float, float]:
    """GiB of the share of the weights that a loading engine holds on the host, where that is the GPU's memory too."""
    weights = whole_weights(found.facts) / GIB / (found.request.tp * found.request.pp) if found.facts else 0.0
    low, likely, high = (share * weights for share in _HOST_SHARE)
    return low, likely, high


def fused_workspace(found: Resolved) -> tuple[float, float, float] | None:
    """GiB of the buffers of the all-reduce that is fused with a norm; None where nothing is fused.

    FlashInfer's trtllm backend holds three buffers (ranks x largest input, flags, three times ranks x largest input), its mnnvl backend one
    of three such parts, each in whole pieces that all GPUs can address. It is on for compiled engines on compute 9.0 and 10.x; without
    NVSwitch it fails and nothing is held, so the low end never counts it.
    """
    backend = str(value("allreduce_workspace", found.version))
    largest = _FUSED_MIB.get(found.capability, {}).get(found.request.tp)
    bridged = found.gpu is not None and found.gpu.name in _BRIDGED
    if not backend or largest is None or found.eager or bridged or not _linked(found):
        return None
    input_gib = found.request.tp * largest / 1024
    three = _pieces(input_gib) + _pieces(0.0) + _pieces(3 * input_gib)
    one = _pieces(3 * input_gib)
    likely = {"trtllm": three, "mnnvl": one, "either": (one + three) / 2, "unread": three / 2}[backend]
    return 0.0, likely, 2 * one if backend == "mnnvl" else three  # quantized models may hold a second one


def _pieces(gib: float) -> float:
    return max(1, ceil(gib / _MULTICAST_GIB)) * _MULTICAST_GIB


def _accounting(found: Resolved) -> str:
    if found.v0 or not since("context_counted", found.version):
        return "v0" if found.v0 else "v1"
    return "consumed" if found.v2 and since("consumed_accounting", found.version) else "late v1"


def _linked(found: Resolved) -> bool:
    """The GPUs reach each other over NVLink (taken for an unknown card of a data center's size): custom collectives hold buffers then."""
    if found.gpu is None:
        return found.memory is None or found.memory.likely > _LARGEST_CONSUMER_GIB
    return found.gpu.nvlink


def shares_with_cpu(found: Resolved) -> bool:
    """CPU and GPU draw on one memory (GB10): what the host holds counts against the budget. A GH200's GPU has memory of its own."""
    return found.gpu is not None and found.gpu.unified_memory and not found.gpu.nvlink


def start_names(found: Resolved) -> tuple[str, ...]:
    """Names of the fitted figures that make up what is gone before the engine takes its share; a log settles the last of them."""
    if shares_with_cpu(found):
        return ("start host",)
    if found.request.tp * found.request.pp == 1:
        return ("start",)
    if not since("context_counted", found.version):
        return "start", "start group early"
    return "start", f"start group {'linked' if _linked(found) else 'unlinked'}"


def start_gib(found: Resolved) -> Estimate:
    """GiB gone from the card before the engine takes its share: context, cuBLAS, NCCL; on a GB10 the CPU's programs."""
    figures = [found.overheads.of(name) for name in start_names(found)]
    shared = 5.0 if found.gpu is not None and found.gpu.unified_memory and not shares_with_cpu(found) else 0.0
    low, likely, high = (sum(figure[i] for figure in figures) for i in range(3))
    return Estimate(low=low, likely=likely + shared, high=high + 2 * shared)


def growth_gib(found: Resolved) -> Estimate:
    """GiB taken after the budget is fixed: graphs beyond those that were counted, the warm-up, buffers of collectives. That graphs are at
    their largest and the warm-up too is not assumed."""
    ranks = found.request.tp * found.request.pp
    per_rank = (0.15 if _linked(found) else 0.1) * min(ranks - 1, 15)
    if found.v0:
        return Estimate(low=0.0, likely=0.0, high=per_rank)
    likely, high = 0.0, 0.0
    if not found.eager:
        counted = found.overheads.of("graphs")[1] if graphs_counted(found) else 0.0
        _, likely, high = (max(times - counted, 0.0) * graph_law(found) for times in found.overheads.of("graphs taken"))
    return Estimate(low=0.0, likely=likely, high=likely + max(high - likely, _WARM_UP_GIB) + per_rank)
