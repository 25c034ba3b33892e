"""What every container of a Ray cluster of ours has: the token, the end of a pod, and ports."""

import json
from collections.abc import Mapping
from typing import Any

from interlock.infra.manifests.placed import bare, put, replaced
from interlock.infra.naming import label
from interlock.infra.plan.ray_types import PlannedRayService
from interlock.infra.values import MIB, bytes_of

RAY = label("ray")
"""Label of a RayService's pods: its name."""
OBJECT_STORE = 512 * MIB
"""Bytes for what actors hand each other: requests and answers, no weights."""
TOKEN_KEY = "auth_token"
"""Key of the Secret with the token (KubeRay's utils/constant.go)."""


def ray_environment(service: PlannedRayService) -> list[Any]:
    """The token by which the cluster's processes know each other, and how long an answer may take."""
    secret = {"name": service.token_secret, "key": TOKEN_KEY}
    longest = {"name": "RAY_SERVE_LLM_ROUTER_HTTP_TIMEOUT", "value": str(service.longest_answer)}
    return [
        {"name": "RAY_AUTH_MODE", "value": "token"},
        put({"name": "RAY_AUTH_TOKEN", "valueFrom": {"secretKeyRef": secret}}, service.field("token_secret")),
        put(longest, service.field("longest_answer_seconds"), "router"),
        {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"},
    ]


def start_params(offers: Mapping[str, int], shm: str) -> dict[str, str]:
    """Parameters of ``ray start`` for a pod that offers resources of its own: JSON in single quotes, as KubeRay's shell command needs it.

    The object store lies in /dev/shm beside the engine's queues: Ray's default goes by the memory and not by what /dev/shm has.
    """
    own = ", ".join(f'"{name}": {count}' for name, count in offers.items())
    store = min(OBJECT_STORE, bytes_of(shm) // 2)
    return {**({"resources": f"'{{{own}}}'"} if own else {}), "object-store-memory": str(store)}


def ray_lifecycle(deregistration: int, drain: Any) -> dict[str, Any]:
    """preStop: nothing is sent any more, Serve moves what runs here elsewhere, and the pod stays until its last replica has ended.

    ``drain``: seconds that this takes at most.
    """
    return {"preStop": {"exec": {"command": replaced(drain, ["bash", "-c", leave(deregistration, bare(drain))])}}}


def leave(deregistration: int, drain: int) -> str:
    """The shell text: a node that cannot say that it leaves (a head that is gone) waits all the same."""
    told = f"ray drain-node --reason DRAIN_NODE_REASON_PREEMPTION --reason-message {json.dumps('the pod ends')}"
    replicas = "grep -qs '^ray::ServeReplica' /proc/[0-9]*/cmdline"
    wait = f"for _ in $(seq {drain}); do {replicas} || break; sleep 1; done"
    return f"sleep {deregistration}; {told} --deadline-remaining-seconds {drain}; {wait}"
