"""Prefill and decode on different servers: the connector's arguments."""

from collections.abc import Iterator, Mapping

from interlock.infra.catalog.images import library
from interlock.infra.catalog.tracks import tracks
from interlock.infra.config.transfer import TransferRole
from interlock.infra.plan.derive.case import Case, Choice

_ROLES: Mapping[TransferRole, str] = {TransferRole.PREFILL: "kv_producer", TransferRole.DECODE: "kv_consumer"}


def transfer(case: Case) -> Iterator[Choice]:
    """``kv_transfer_config`` of one side (vLLM documentation, NixlConnector usage guide: roles of servers on different hosts)."""
    pair = case.server.transfer
    if pair is None or case.simulated or not case.takes("kv_transfer_config"):
        return
    first, last = pair.port, pair.port + case.engine.dp - 1
    ports = f"port {first}" if last == first else f"ports {first} to {last}, one for each data-parallel rank"
    split = f"router {pair.router} sends each request to both sides" if pair.router else "a router must send each request to both sides"
    told = f"transfer.role {pair.role}: the KV cache goes over {ports} of the pod; {split}"
    image = library(case.server.image.reference or tracks()[case.server.track.value].reference, "nixl")
    known = "the image holds nixl" if image and image.held else "whether the image holds nixl, which it needs, is not known"
    value = {"kv_connector": "NixlConnector", "kv_role": _ROLES[pair.role]}
    yield Choice("kv_transfer_config", value, f"{told}; {known}", "prompts and answers share the steps of one engine")
