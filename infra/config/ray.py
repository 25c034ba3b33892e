"""Ray: servers that run inside a RayService, and what a RayService is made of beside its models."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from interlock.infra.config.base import Bytes, Config, LabelKey, LabelValue, Name, ObjectName, Plain, Quantity

LONGEST_NAME = 47
"""Characters of a RayService's name that KubeRay takes (MaxRayServiceNameLength); it adds a suffix for each of its clusters."""


class Serve(StrEnum):
    """What runs a server's engines."""

    DEPLOYMENT = "deployment"
    RAY = "ray"


class RayUpgrade(StrEnum):
    """How the cluster of a RayService is replaced."""

    SURGE = "surge"
    RECREATE = "recreate"


def _service_name(value: str) -> str:
    if len(value) > LONGEST_NAME:
        raise ValueError(f"{value!r} has {len(value)} characters; KubeRay takes at most {LONGEST_NAME} for a RayService")
    if value[0].isdigit():
        raise ValueError(f"{value!r} begins with a digit; the name of a RayService begins with a letter")
    return value


def _address(value: str) -> str:
    host, colon, port = value.removeprefix("redis://").removeprefix("rediss://").rpartition(":")
    if not (host and colon and port.isdigit() and 0 < int(port) <= 65535):
        raise ValueError(f"{value!r} is not host:port of a Redis, such as redis.team-a.svc:6379")
    return value


class RedisConfig(Config):
    """A Redis that is there already and keeps the state of a Ray cluster."""

    address: Annotated[Plain, AfterValidator(_address)]
    """``host:port``, with ``rediss://`` in front for TLS."""
    secret: ObjectName | None = None
    """Existing Secret whose key ``password`` is its password; omit for a Redis without one."""


class RayServiceConfig(Config):
    """One RayService: a Ray cluster with a head, pods that take requests, and a group of GPU workers for each of its servers."""

    name: Annotated[Name, AfterValidator(_service_name)]
    """Name, as servers refer to it, and of the Service that takes requests."""
    redis: RedisConfig | None = None
    """Redis that keeps the cluster's state, so that a lost head is made again beside running models; omit and they go with their head."""
    token_secret: ObjectName | None = None
    """Existing Secret whose key ``auth_token`` opens the cluster; omit and the stack draws one."""
    upgrade: RayUpgrade | None = None
    """surge (a whole second cluster first) or recreate (with a gap); omit to surge where the pools hold both clusters."""
    head_cpu: Quantity = "2"
    """CPU request of the head."""
    head_memory: Bytes = "8Gi"
    """Memory request and limit of the head."""
    ingress_replicas: int = Field(default=2, ge=1, le=100)
    """Pods without GPUs that take requests and hand them to the models."""
    ingress_cpu: Quantity = "2"
    """CPU request of each of them."""
    ingress_memory: Bytes = "4Gi"
    """Memory request and limit of each of them."""
    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of the nodes for head and ingress pods, which need no GPU; omit for any node without a taint."""
