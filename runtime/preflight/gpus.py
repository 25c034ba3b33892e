"""GPUs: as many as planned, the planned model and memory, shared as planned, and empty."""

from collections.abc import Iterator
from typing import Any

from interlock.runtime.preflight.cards import Card, Machine
from interlock.runtime.preflight.look import Result, fine, problem

EMPTY_MIB = 2048
"""Memory in use that a card without any process may show: the driver's own, more with ECC and on large cards."""
EXCLUSIVE, MIG = "exclusive", "mig"


def look(machine: Machine, plan: dict[str, Any]) -> Iterator[Result]:
    """``plan``: ``count``, ``model``, ``memory_mib``, ``sharing`` (exclusive, time-sliced, mps, mig), ``profile`` (of MIG)."""
    sharing = plan.get("sharing", EXCLUSIVE)
    if sharing == MIG:
        yield from _slices(machine, plan)
        return
    yield _count("gpu-count", len(machine.cards), plan["count"], "GPUs")
    for index, card in enumerate(machine.cards):
        yield from _card(index, card, plan, sharing)


def label(name: str) -> str:
    """A product name as GPU feature discovery writes it into node labels, without the part that tells of sharing."""
    return name.strip().replace(" ", "-").removesuffix("-SHARED").upper()


def _count(kind: str, there: int, planned: int, what: str) -> Result:
    if there == planned:
        return fine(kind, f"{there} {what}")
    return problem(
        kind, f"{there} {what} are visible and the plan needs {planned}: compare nvidia.com/gpu of this container and of the engine's"
    )


def _card(index: int, card: Card, plan: dict[str, Any], sharing: str) -> Iterator[Result]:
    if card.mig:
        yield problem("gpu-sharing", f"GPU {index} is in MIG mode and the plan says {sharing}: the engine cannot use the whole card")
        return
    yield fine("gpu-sharing", f"GPU {index} is not in MIG mode, planned is {sharing}")
    planned = plan.get("model")
    if planned and label(card.name) != label(planned):
        yield problem("gpu-model", f"GPU {index} is {card.name} and the plan was made for {planned}: this pod is on a node of another pool")
    elif planned:
        yield fine("gpu-model", f"GPU {index} is {card.name}")
    memory = plan.get("memory_mib")
    if memory and card.memory_mib < memory:
        yield problem(
            "gpu-memory", f"GPU {index} has {card.memory_mib} MiB and the plan counts on {memory} MiB: is ECC on, or memory reserved?"
        )
    elif memory:
        yield fine("gpu-memory", f"GPU {index} has {card.memory_mib} MiB")
    if sharing == EXCLUSIVE:
        yield _busy(index, card)


def _busy(index: int, card: Card) -> Result:
    if card.processes:
        return problem("gpu-busy", f"{card.processes} processes are on GPU {index} ({card.used_mib} MiB in use) before the engine starts")
    if card.used_mib > EMPTY_MIB:
        return problem(
            "gpu-busy", f"{card.used_mib} MiB of GPU {index} are in use before the engine starts (an empty card: at most {EMPTY_MIB} MiB)"
        )
    return fine("gpu-busy", f"GPU {index} is empty ({card.used_mib} MiB in use)")


def _slices(machine: Machine, plan: dict[str, Any]) -> Iterator[Result]:
    found = [name for card in machine.cards for name in card.slices]
    if machine.cards and not any(card.mig for card in machine.cards):
        yield problem("gpu-sharing", f"no GPU here is in MIG mode and the plan says MIG {plan.get('profile', '')}".rstrip())
        return
    yield _count("gpu-count", len(found), plan["count"], "MIG devices")
    profile = plan.get("profile")
    if not profile:
        return
    wrong = sorted({name for name in found if not name.endswith(f" {profile}")})
    text = f"MIG devices here are {', '.join(wrong or found) or 'none'}"
    yield problem("gpu-sharing", f"{text} and the plan says {profile}") if wrong else fine("gpu-sharing", text)
