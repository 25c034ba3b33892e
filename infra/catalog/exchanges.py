"""How ranks on different nodes may exchange what experts need (exchanges.json)."""

from dataclasses import dataclass

from interlock.infra.catalog.tables import table
from interlock.infra.catalog.vllm_flags import flag_facts


@dataclass(frozen=True, slots=True)
class Exchange:
    """One backend of ``--all2all-backend``."""

    backend: str
    needs: str
    """What the image and the network must have."""


def over_nodes(capability: float, role: str, vllm: str) -> tuple[Exchange, ...]:
    """The backends that a version has for a card's compute capability and a side of a pair (``prefill``, ``decode`` or empty)."""
    known = (flag_facts("--all2all-backend", vllm) or {}).get("choices") or ()
    return tuple(
        Exchange(row["backend"], row["needs"])
        for row in table("exchanges.json")["rows"]
        if row["least"] <= capability and role in row["roles"] and row["backend"] in known
    )
