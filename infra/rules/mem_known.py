"""Whether memory could be judged at all: the card must be known."""

from collections.abc import Iterable

from interlock.infra.catalog.gpus import gpu, not_nvidia
from interlock.infra.catalog.near import near_gpus
from interlock.infra.facts import Bundle, Fact
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.rule import Hit, Settings, rule


@rule(
    "MEM-015",
    Severity.WARNING,
    demand="The card of a pool is known, so that memory can be judged.",
    reason="Nothing about weights, KV cache and number formats was compared: a file without findings is then not a file that fits.",
    source="infra/catalog/gpus.json (memory as CUDA reports it, by card)",
    remedy="Correct the name, or state the card's memory and compute capability.",
    fault="card-unknown",
    of="bundle",
)
def known_card(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.pools:
        if _unknown(pool.gpu) and not pool.gpu_memory.known:
            remedy = "correct the name, or state memory_gib and compute_capability of the pool"
            yield Hit(pool.gpu.path or pool.name, _said(pool.gpu.get()), remedy, pool.gpu.get(), origin=pool.origin)
    told: set[tuple[str, str]] = set()
    for workload in bundle.workloads:
        key = (workload.origin.file, str(workload.gpu.value))
        if workload.engine.name == "vllm" and bundle.pool(workload) is None and _unknown(workload.gpu) and key not in told:
            told.add(key)
            name, remedy = workload.gpu.get(), "state its memory_gib and compute_capability in .interlock.yaml"
            yield Hit(workload.gpu.path, _said(name), remedy, name, severity=Severity.INFO, origin=workload.origin)


def _unknown(card: Fact[str]) -> bool:
    return card.known and not not_nvidia(card.get()) and gpu(card.get()) is None


def _said(name: str) -> str:
    return f"{name!r} is not a card of the catalog{near_gpus(name)}: memory and number formats were not judged"
