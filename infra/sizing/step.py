"""How long one step of an engine takes at most: what silence of an engine that has work is measured by.

An upper bound by rates that every card in the catalog exceeds: a healthy engine must never be taken for a hung one.
"""

FLOPS = 10e12
"""Operations per second of one rank in a long prompt. Not measured: an allowance, a third of what a T4 reaches."""
HOST_BYTES = 5e9
"""Bytes per second from host memory to a card. Not measured: an allowance, a third of PCIe 3.0 with 16 lanes."""
FIRST_USE = 60.0
"""Seconds of a step that meets a kernel for the first time: it is compiled or tuned. Not measured: an allowance."""

UNSHAPED = 300.0
"""Seconds of a step of a model whose shapes are not known. Not measured: an allowance."""


def longest_step(*, weights: int, width: int, tokens: int, context: int, ranks: int, offloaded: int = 0) -> float:
    """Seconds. ``weights``, ``offloaded``: bytes of the whole model and of what lies in host memory; ``width``: layers x query heads x
    head size; ``tokens`` of one step, each of which may look back on ``context``; ``ranks`` that share the work.

    Linear layers: two operations per weight and token, a byte taken for a weight. Attention: four per token, position and unit of width.
    """
    work = 2.0 * weights * tokens + 4.0 * width * tokens * context
    return FIRST_USE + work / (ranks * FLOPS) + offloaded / (ranks * HOST_BYTES)
