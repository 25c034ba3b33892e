"""Another pool of the same set, with room, that holds what does not fit where it was put."""

from dataclasses import replace

from interlock.infra.catalog.gpus import gpu
from interlock.infra.facts import Bundle, Pool, Workload, known
from interlock.infra.rules.reading.planner import card_of, request_of
from interlock.infra.rules.reading.room import room_for
from interlock.infra.sizing import SizingRequest, Verdict
from interlock.infra.sizing.ask import answer
from interlock.infra.values import plural

_RANKS = (1, 2, 4, 8)


def other_pool(workload: Workload, bundle: Bundle) -> str:
    """The fix in words: a pool, with the ranks that it takes there; empty where no other one is known to have room for it."""
    request = request_of(workload, bundle)
    if request is None or len(workload.pods) != 1:
        return ""
    for pool in bundle.pools:
        whole = pool.gpu.known and pool.sharing.value in (None, "exclusive")
        if not whole or (workload.pool.known and pool.name == workload.pool.get()):
            continue
        ranks = _ranks(request, workload, pool, bundle)
        if ranks is not None:
            more = f", set --tensor-parallel-size to {ranks} and ask for {plural(_units(request, ranks), 'GPU')} per replica"
            return f"choose pool {pool.name}{more if ranks != request.tp else ''}"
    return ""


def _units(request: SizingRequest, ranks: int) -> int:
    return ranks * request.pp * request.dp * request.pcp


def _ranks(request: SizingRequest, workload: Workload, pool: Pool, bundle: Bundle) -> int | None:
    """The fewest tensor parallel ranks with which all replicas fit the pool's cards and find room on its nodes."""
    card = card_of(pool, gpu(str(pool.gpu.get())), None)
    replicas = workload.replicas.value or 1
    for ranks in dict.fromkeys((request.tp, *(each for each in _RANKS if each > request.tp))):
        units = _units(request, ranks)
        room = room_for(known(units), pool, bundle)
        if room is None or room < units * replicas:
            continue
        there = replace(request, gpu=card.gpu, gpu_total_gib=card.total_gib, mig_profile=None, tp=ranks)
        if (card.gpu or card.total_gib) and answer(there).verdict is Verdict.FITS:
            return ranks
    return None
