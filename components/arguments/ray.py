"""A RayService as the config describes it. Written by `python -m tools.component_arguments`."""

from typing import NotRequired, TypedDict

import pulumi

from interlock.infra.config.ray import RayUpgrade


class RedisSettings(TypedDict):
    """A Redis that is there already and keeps the state of a Ray cluster."""

    address: str
    """``host:port``, with ``rediss://`` in front for TLS."""
    secret: NotRequired[pulumi.Input[str]]
    """Existing Secret whose key ``password`` is its password; omit for a Redis without one."""


class RayServiceSettings(TypedDict):
    """One RayService: a Ray cluster with a head, pods that take requests, and a group of GPU workers for each of its servers."""

    name: str
    """Name, as servers refer to it, and of the Service that takes requests."""
    redis: NotRequired[RedisSettings]
    """Redis that keeps the cluster's state, so that a lost head is made again beside running models; omit and they go with their head."""
    token_secret: NotRequired[pulumi.Input[str]]
    """Existing Secret whose key ``auth_token`` opens the cluster; omit and the stack draws one."""
    upgrade: NotRequired[RayUpgrade]
    """surge (a whole second cluster first) or recreate (with a gap); omit to surge where the pools hold both clusters."""
    head_cpu: NotRequired[str]
    """CPU request of the head."""
    head_memory: NotRequired[str]
    """Memory request and limit of the head."""
    ingress_replicas: NotRequired[int]
    """Pods without GPUs that take requests and hand them to the models."""
    ingress_cpu: NotRequired[str]
    """CPU request of each of them."""
    ingress_memory: NotRequired[str]
    """Memory request and limit of each of them."""
    node_selector: NotRequired[dict[str, str]]
    """Labels of the nodes for head and ingress pods, which need no GPU; omit for any node without a taint."""
