"""What a pod may write on its node: bounded, so that its caches never evict its neighbours."""

import math

from interlock.infra.plan.base import Planned
from interlock.infra.plan.reasons import Reason
from interlock.infra.values import GIB, binary, gib

COMPILED = 10 * GIB
"""Compiled graphs and kernels of one model, with the libraries' own caches."""
TEMPORARY = 4 * GIB
"""/tmp: uploads, sockets, what compilers leave."""
WRITTEN = 2 * GIB
"""What a pod writes at least, and its logs."""
_FILES = 1.05
"""Files of a checkpoint beside its tensors, and a partial download."""


class Scratch(Planned):
    """Bytes on the node's disk; None where the size of a download is not known."""

    cache: int | None
    """Most that the cache volume holds."""
    temporary: int
    """Most that /tmp holds."""
    request: int
    """What the scheduler sets aside."""
    limit: int | None
    """Above it the pod is evicted."""


def decide_scratch(downloads: bool, weights: int | None, why: dict[str, Reason]) -> Scratch:
    """Sizes by what a pod fetches: a checkpoint of ``weights`` bytes where it ``downloads`` it itself."""
    if downloads and weights is None:
        told = "the pod downloads weights of unknown size: state model.weights_gib, and the cache is bounded"
        why["scratch"] = Reason(value="not bounded", reason=told)
        return Scratch(cache=None, temporary=TEMPORARY, request=WRITTEN, limit=None)
    fetched = math.ceil((weights or 0) * _FILES / GIB) * GIB if downloads else 0
    cache = COMPILED + fetched
    files = f" + {gib(fetched)} of weights that each pod downloads" if fetched else ""
    why["scratch"] = Reason(value=binary(cache), reason=f"{binary(COMPILED)} of compiled kernels{files}")
    return Scratch(cache=cache, temporary=TEMPORARY, request=WRITTEN + fetched, limit=cache + TEMPORARY + WRITTEN)
