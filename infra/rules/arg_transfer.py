"""Prefill and decode engines: what must be equal on both sides for the KV cache to be taken over."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from interlock.infra.catalog.images import library
from interlock.infra.facts import Bundle, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.relations import member
from interlock.infra.rules.reading.units import engine_containers, where
from interlock.infra.rules.rule import Hit, Settings, rule

_SIDES: Mapping[str, Callable[[Workload], Fact[Any]]] = {
    "vLLM version": lambda workload: workload.engine.version,
    "--dtype": lambda workload: workload.engine.flag("dtype").default("auto"),
    "--kv-cache-dtype": lambda workload: workload.engine.flag("kv-cache-dtype").default("auto"),
}
"""What both sides put into the hash that they compare at the first hand-over, as far as a document tells it."""


_LIBRARY = "nixl"


def _role(workload: Workload) -> str:
    connector = member(workload, "kv-transfer-config", ["kv_connector"])
    role = member(workload, "kv-transfer-config", ["kv_role"])
    return str(role.get()) if role.known and connector.known and connector.get() == "NixlConnector" else ""


@rule(
    "ARG-023",
    Severity.WARNING,
    demand="The image of a prefill or decode engine holds the library of its connector.",
    reason="Without it the engine ends at its start: NIXL is not available.",
    source="vllm/distributed/kv_transfer/kv_connector/v1/nixl/base_worker.py; infra/catalog/engine_images.json",
    remedy="Take an image that holds it.",
    links=("https://docs.vllm.ai/en/latest/features/nixl_connector_usage/",),
)
def has_library(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        found = library(container.image.get(), _LIBRARY) if container.image.known and _role(workload) else None
        if found is not None and not found.held:
            text = f"{_LIBRARY} is not known to be in this image: of its family those of {found.since} and later hold it"
            yield Hit(container.image.path, text, f"take one of {found.since} or later", container.image.get())


def _sides(workload: Workload, bundle: Bundle, role: str) -> list[Workload]:
    """Engines of that role for the same model in the same namespace."""
    model, space = workload.engine.model, workload.origin.namespace
    return [
        each
        for each in bundle.workloads
        if each.engine.model.known and each.engine.model.value == model.value and each.origin.namespace == space and _role(each) == role
    ]


@rule(
    "ARG-022",
    Severity.ERROR,
    demand="The two sides of a prefill/decode pair have one vLLM version, one dtype and one KV cache dtype.",
    reason="They compare a hash of these at the first hand-over and refuse each other: every request that is split fails.",
    source="vllm/distributed/kv_transfer/kv_connector/v1/nixl/metadata.py compute_nixl_compatibility_hash",
    remedy="Give both sides the same image and the same types.",
    links=("https://docs.vllm.ai/en/latest/features/nixl_connector_usage/",),
)
def sides_agree(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if not workload.engine.model.known or _role(workload) != "kv_consumer" or len(_sides(workload, bundle, "kv_consumer")) != 1:
        return
    # With several producers of one model nobody knows which of them belong to this engine.
    producers = _sides(workload, bundle, "kv_producer")
    if len(producers) != 1:
        return
    for name, side in _SIDES.items():
        mine, other = side(workload), side(producers[0])
        if mine.known and other.known and mine.get() != other.get():
            text = f"{name} is {mine.get()} here and {other.get()} in {producers[0].origin.name}, which hands over the KV cache"
            yield Hit(where(workload, Place.ARGS, mine), text, f"give both the same: {other.get()}", str(mine.get()))
