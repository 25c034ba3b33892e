"""Fits the figures of ``infra/catalog/overheads.json`` on logs: on all of them, or on half of them to be judged on the others."""

import itertools
import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from interlock.cli.size_lines import request_of
from interlock.infra.catalog.overheads import TABLE, Figure, Overheads, priors
from interlock.infra.catalog.tables import table
from interlock.infra.catalog.versions import since
from interlock.infra.sizing.settings import Resolved, resolve
from interlock.infra.sizing.terms.activation import activation
from interlock.infra.sizing.terms.graphs import (
    fused_workspace,
    graph_law,
    graphs,
    graphs_counted,
    of_page_cache,
    other_names,
    sampler_state_bytes,
    shares_with_cpu,
    start_names,
)
from interlock.infra.sizing.terms.weights import BESIDE_GIB, loaded, packing_bytes, stored_name
from interlock.infra.values import GIB
from tools.accuracy.cases import Record, inputs_of
from tools.common import ROOT

PATH = ROOT / "infra/catalog" / TABLE
SMALL, SORTED = "sampler small", "sampler sorted"
# The laws alone: what is believed, and nothing beside the laws of the samplers.
_LAW = Overheads({**priors().figures, SMALL: (0.0, 0.0, 0.0), SORTED: (0.0, 0.0, 0.0)})
# From so many logs on their median is the likely value; before, what was believed counts as one log more.
_ENOUGH = 3
# Logs tell weights in hundredths of a GiB.
_ROUNDED = 0.001
# Of so many logs the outermost one at each end says nothing.
_TRIMMED = 20
# Weights further off are of another checkpoint than the name says, a sampler further off did not rule the peak, and a value so many times
# above what was believed possible is of another build: nothing is learnt from them. They are judged all the same.
_OTHER_CHECKPOINT, _OTHER_16_BIT, _OTHER_PEAK, _BEYOND = 0.06, 0.01, 0.2, 1.5
# Low ends that no log narrows: what is not on the command line may choose less (attention without a workspace, whose first whole graph
# takes 4 MiB instead of 262; a smaller card's context).
_OPEN_BELOW = ("graphs", "start")
# Before any log of it, a group whose all-reduce is fused takes beside that workspace what other groups take.
_LIKE = {"fused 2": "group 2 linked", "fused 4": "group 4 linked"}


@dataclass(frozen=True, slots=True)
class Observation:
    """What one log says of one figure."""

    name: str
    value: float
    thread: str
    """Where the log was published."""
    beside: tuple[str, ...] = ()
    """Figures whose likely values are still in ``value``."""


def observations(log: Record) -> tuple[Observation, ...]:
    """What a log says of the figures; nothing where the engine is not vLLM's on an NVIDIA card, or something else held memory of the card.
    Before the model is loaded, it does not matter whether it is known."""
    if log.foreign or log.disturbed or log.log.get("exclude"):
        return ()
    request, _ = request_of(inputs_of(log.log))
    found = resolve(replace(request, overheads=_LAW))
    if not log.named or found.facts is None or not found.facts.complete or found.memory is None:
        return tuple(_start(log, found))
    return (*_start(log, found), *_outside(log, found), *_graphs(log, found), *_peak(log, found), *_weights(log, found))


def _outside(log: Record, found: Resolved) -> Iterator[Observation]:
    request, names = found.request, other_names(found)
    logged = _outside_gib(log, found)
    if logged is None or request.dp > 1 or (request.pp > 1 and request.tp > 1):
        return
    workspace = fused_workspace(found) if request.tp > 1 else None
    net = logged - sampler_state_bytes(found) / GIB - (workspace[1] if workspace else 0.0)
    if shares_with_cpu(found):
        yield Observation("host", net - of_page_cache(found)[1], log.thread, names)
    else:
        yield Observation(names[-1], net, log.thread, names[:-1])


def _outside_gib(log: Record, found: Resolved) -> float | None:
    """GiB outside PyTorch: as logged, or what the budget leaves where every other term is logged."""
    stated = log.number("non_torch_gib")
    if stated is not None:
        return stated
    both = (log.log.get("derived") or {}).get("activation_plus_non_torch_gib")
    if both is not None:
        return float(both) - activation(found)[0].likely
    if log.weights_are_consumed and found.facts is not None:
        return (log.number("weights_gib") or 0.0) - loaded(found, found.facts).gib.likely
    names = ("gpu_total_gib", "gpu_memory_utilization", "weights_gib", "kv_available_gib", "activation_peak_gib")
    total, share, weights, pool, peak = (log.number(name) for name in names)
    graph = log.number("cudagraph_estimated_gib") if graphs_counted(found) and not found.eager else 0.0
    if shares_with_cpu(found) and found.facts is not None and found.memory is not None:
        # What the host holds is far more than any term is off.
        total = found.memory.likely if total is None else total
        weights = loaded(found, found.facts).gib.likely if weights is None else weights
        peak = activation(found)[0].likely if peak is None else peak
        graph = graphs(found)[0].likely if graph is None else graph
    if total is None or share is None or weights is None or pool is None or peak is None or graph is None:
        return None
    return total * share - weights - pool - peak - graph


def _start(log: Record, found: Resolved) -> Iterator[Observation]:
    total, free = log.number("gpu_total_gib"), log.number("free_at_start_gib")
    if total is not None and free is not None and not log.log.get("beside"):
        names = start_names(found)
        yield Observation(names[-1], total - free, log.thread, names[:-1])


def _graphs(log: Record, found: Resolved) -> Iterator[Observation]:
    estimate = log.number("cudagraph_estimated_gib")
    if estimate is not None and estimate > 0 and not found.eager:
        yield Observation("graphs", estimate / graph_law(found), log.thread)
    taken = log.number("cudagraph_actual_gib")
    if taken is not None and taken >= 0 and not found.eager and not found.v0:
        yield Observation("graphs taken", taken / graph_law(found), log.thread)


def _peak(log: Record, found: Resolved) -> Iterator[Observation]:
    peak, facts = log.number("activation_peak_gib"), found.facts
    if peak is None or facts is None or facts.pooling:
        return
    law, how = activation(found)
    if found.v2 or "vocabulary" not in how or abs(peak - law.likely) >= _OTHER_PEAK:
        return
    sorts = found.v0 or not since("triton_sampler", found.version)
    yield Observation(SORTED if sorts else SMALL, peak - law.likely, log.thread)


def _weights(log: Record, found: Resolved) -> Iterator[Observation]:
    weights, facts = log.number("weights_gib"), found.facts
    if not weights or facts is None or log.weights_are_consumed or found.request.speculative_method or found.request.pp > 1:
        return
    likely = loaded(found, facts).gib.likely
    repacked = max(packing_bytes(found, facts, marlin=True) - packing_bytes(found, facts), 0) / GIB
    off = min((weights / base - 1 for base in (likely, likely + repacked)), key=abs)
    scheme = facts.quantization.scheme if facts.quantization else None
    if abs(off) <= (_OTHER_CHECKPOINT if scheme else _OTHER_16_BIT):
        # What any model may hold besides is no share of its weights.
        yield Observation(stored_name(scheme), min(off, max(off - BESIDE_GIB / likely, 0.0)), log.thread)


def fit(seen: Iterable[Observation]) -> Overheads:
    """The figures that these observations give. What none of them shows stays as it was believed."""
    figures, known = dict(priors().figures), list(seen)
    for depth, like in itertools.product(sorted({len(each.beside) for each in known}), (False, True)):
        values: dict[str, list[tuple[float, str]]] = {}
        for each in known:
            net = each.value - sum(figures[name][1] for name in each.beside)
            if len(each.beside) == depth and (each.name in _LIKE) == like and _teaches(each.name, net):
                values.setdefault(each.name, []).append((net, each.thread))
        figures |= {name: _combined(name, found, figures[name]) for name, found in values.items()}
        figures |= {name: figures[other] for name, other in _LIKE.items() if other in values}
    return Overheads(figures)


def _teaches(name: str, value: float) -> bool:
    """Whether a value is of what the figure names: memory is never less than nothing."""
    low, _, high = priors().of(name)
    return value <= _BEYOND * high and (low < 0 or value >= 0)


def _combined(name: str, seen: Sequence[tuple[float, str]], prior: Figure) -> Figure:
    places: dict[str, list[float]] = {}
    for value, thread in seen:
        places.setdefault(thread, []).append(value)
    low, likely, high = combined(prior, list(places.values()))
    if name.startswith("weights"):  # the likely value is derived, and logs are rounded
        return min(low, -_ROUNDED), 0.0, max(high, 0.0)
    return min(low, prior[0]) if name in _OPEN_BELOW else low, likely, high


def combined(prior: Figure, places: Sequence[Sequence[float]]) -> Figure:
    """(low, likely, high) of a figure from its values, by where they were published.

    Likely is the middle of the places' middles: a sweep of forty runs counts once. Low and high are the span of the values without the
    outermost of twenty at each end, wider by a part of what was believed: a half with one place, a fifth with two, a tenth with three.
    """
    ordered, middles = sorted(value for values in places for value in values), [statistics.median(values) for values in places]
    cut = len(ordered) // _TRIMMED
    least, most = ordered[cut], ordered[len(ordered) - 1 - cut]
    room = 1 / (len(places) ** 2 + 1)
    low, high = least - room * max(least - prior[0], 0.0), most + room * max(prior[2] - most, 0.0)
    likely = statistics.median(middles if len(ordered) >= _ENOUGH else [*ordered, prior[1]])
    return min(low, likely), likely, max(high, likely)


def write(logs: Iterable[Record]) -> str:
    """Fits the catalog's figures on all logs and writes them. Returns what changed."""
    seen = [each for log in logs for each in observations(log)]
    found, rows = fit(seen), table(TABLE)
    lines = []
    for name, row in rows.items():
        fitted = [round(end, 4) for end in found.of(name)]
        count = sum(each.name == name for each in seen)
        lines.append(f"  {json.dumps(name)}: {json.dumps({**row, 'fitted': fitted, 'logs': count})}")
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    return f"{PATH.name}: {len(seen)} observations of {len(rows)} figures"
