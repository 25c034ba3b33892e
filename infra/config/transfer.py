"""Servers that split a request: one reads the prompt, another writes the answer, and the KV cache goes from one to the other."""

from enum import StrEnum

from pydantic import Field

from interlock.infra.config.base import Config, ObjectName


class TransferRole(StrEnum):
    """What a server does of a request."""

    PREFILL = "prefill"
    DECODE = "decode"


class Connector(StrEnum):
    """What carries the KV cache."""

    NIXL = "nixl"


class TransferConfig(Config):
    """One side of a pair. A router in front of both, which is not made here, sends each request to a prefill server first."""

    role: TransferRole
    """prefill (reads prompts, hands over their KV cache) or decode (writes the answers)."""
    connector: Connector = Connector.NIXL
    """nixl: vLLM's NixlConnector; the image must hold the library nixl."""
    router: ObjectName | None = None
    """Service of the router that splits requests, in this namespace: clients ask it. Stated on one side, it counts for both."""
    port: int = Field(default=5600, ge=1024, le=65000)
    """First port at which the other side asks for the cache; each data-parallel rank has the next one."""
