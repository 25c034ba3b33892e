"""For every component the smallest arguments it takes, the places where outputs may flow, and one contradiction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

from interlock.components.gpu_device_plugin import GpuDevicePlugin
from interlock.components.gpu_sharing import GpuSharing
from interlock.components.model_route import ModelRoute
from interlock.components.model_store import ModelStore
from interlock.components.node_pool import NodePool
from interlock.components.priority_classes import PriorityClasses
from interlock.components.queue_autoscaler import QueueAutoscaler
from interlock.components.ray_server import RayServer
from interlock.components.tenant import Tenant
from interlock.components.vllm_server import VllmServer
from interlock.components.workspace import Workspace

POOL: dict[str, Any] = {"name": "h100", "gpu": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 2, "cpu": "96", "memory": "1Ti"}
SLICED = {**POOL, "name": "sliced", "share": {"kind": "time-slicing", "replicas": 4}}
MIG = {**POOL, "name": "mig", "share": {"kind": "mig", "profile": "1g.10gb"}}
MODEL = {"id": "Qwen/Qwen2.5-7B-Instruct", "revision": "a09a35458c702b33eeacc393d103063234e8bc28"}
REVISION = "a09a35458c702b33eeacc393d103063234e8bc28"


@dataclass(frozen=True)
class Case:
    """One component."""

    kind: type[pulumi.ComponentResource]
    args: Mapping[str, Any]
    flows: Mapping[str, str]
    """Path of an argument that takes an output, with a value for it."""
    wrong: Mapping[str, Any]
    """Changes by path that make a contradiction which is certain whatever the outputs are."""
    says: str
    """What is said then."""
    other: Mapping[str, Any] = field(default_factory=dict)
    """Changes by path for a second one in the same program."""
    missing: str = ""
    """An argument that cannot be left out."""
    named: Mapping[str, str] = field(default_factory=dict)
    """Changes by path that state the names which the component's own name gives otherwise."""


CASES = (
    Case(
        RayServer,
        {
            "servers": [
                {
                    "name": "chat",
                    "model": MODEL,
                    "engine": {"max_model_len": 8192},
                    "pool": "h100",
                    "hub_token_secret": "hub",
                    "access": {"open": "the gateway asks for keys"},
                    "route": {"host": "a.example.org", "gateway": "g"},
                    "image": {"reference": f"registry.example.org/ray-llm:2.60.0@sha256:{'ab' * 32}", "vllm": "0.29.0"},
                },
            ],
            "pools": [POOL],
            "namespace": "team-a",
            "token": "a-token",
            "service": {"redis": {"address": "redis:6379", "secret": "redis"}},
        },
        {
            "namespace": "team-a",
            "token": "a-token",
            "servers[0].hub_token_secret": "hub",
            "servers[0].route.host": "a.example.org",
            "servers[0].route.gateway": "g",
            "service.redis.secret": "redis",
        },
        {"servers[0].gpus": 2, "servers[0].engine.tensor_parallel_size": 4},
        "GPU-001 error: servers[0].gpus = 2: TP 4",
        missing="pools",
        other={"servers[0].name": "other"},
        named={"service.name": "it"},
    ),
    Case(
        VllmServer,
        {
            "server": {
                "model": MODEL,
                "engine": {"max_model_len": 8192},
                "hub_token_secret": "hub",
                "access": {"open": "the gateway asks for keys"},
                "route": {"host": "a.example.org", "gateway": "g", "gateway_namespace": "gs", "tls_secret": "tls"},
                "autoscale": {"max_replicas": 3},
                "image": {"reference": "registry.example.org/vllm:v0.33.0", "vllm": "0.33.0", "pull_secrets": ["pull"]},
            },
            "pool": POOL,
            "namespace": "team-a",
            "monitoring": {"prometheus": {"url": "http://prometheus:9090", "auth": "bearer", "secret": "token"}},
            "weights_claim": "weights",
            "image_digest": f"sha256:{'ab' * 32}",
        },
        {
            "namespace": "team-a",
            "weights_claim": "weights",
            "image_digest": f"sha256:{'ab' * 32}",
            "server.hub_token_secret": "hub",
            "server.image.pull_secrets[0]": "pull",
            "server.route.host": "a.example.org",
            "server.route.gateway": "g",
            "server.route.gateway_namespace": "gs",
            "server.route.tls_secret": "tls",
            "monitoring.prometheus.url": "http://prometheus:9090",
            "monitoring.prometheus.secret": "token",
        },
        {"server.gpus": 2, "server.engine.tensor_parallel_size": 4},
        "GPU-001 error: server.gpus = 2: TP 4",
        missing="pool",
        named={"server.name": "it"},
    ),
    Case(
        ModelRoute,
        {
            "route": {"host": "a.example.org", "gateway": "g", "gateway_namespace": "gs", "tls_secret": "tls"},
            "namespace": "team-a",
            "backends": [{"service": "chat", "prefix": "/chat"}, {"service": "code", "prefix": "/code"}],
        },
        {
            "namespace": "team-a",
            "route.host": "a.example.org",
            "route.gateway": "g",
            "route.gateway_namespace": "gs",
            "route.tls_secret": "tls",
            "backends[0].service": "chat",
        },
        {"route.timeout_seconds": 60, "longest_answer_seconds": 900},
        "NET-006 error: route.timeout_seconds = 60",
        missing="backends",
        named={"name": "it"},
    ),
    Case(
        QueueAutoscaler,
        {
            "autoscale": {"max_replicas": 4},
            "prometheus": {"url": "http://prometheus:9090"},
            "namespace": "team-a",
            "deployment": "chat",
            "model": "chat",
        },
        {"namespace": "team-a", "deployment": "chat", "model": "chat", "prometheus.url": "http://prometheus:9090"},
        {"autoscale.min_replicas": 5},
        "autoscale: min_replicas 5 is above max_replicas 4",
        {"deployment": "code"},
        missing="deployment",
    ),
    Case(
        ModelStore,
        {
            "store": {
                "kind": "nfs",
                "server": "nfs.example.org",
                "path": "/models",
                "prefetch": [{"model": MODEL["id"], "revision": REVISION, "token_secret": "hub"}],
            },
            "namespace": "team-a",
            "pools": [POOL],
        },
        {"namespace": "team-a", "store.server": "nfs.example.org"},
        {"store.storage_class": "fast"},
        "store: storage_class mean nothing for kind nfs",
        missing="store",
        named={"store.name": "it"},
    ),
    Case(
        Workspace,
        {"namespace": "team-a"},
        {},
        {"stores": [{"name": "models", "kind": "nfs"}]},
        "stores[0]: kind nfs needs path, server",
        {"namespace": "team-b"},
        missing="namespace",
    ),
    Case(
        NodePool,
        {"pool": {**POOL, "node_names": ["n1", "n2"]}},
        {},
        {"pool.share": {"kind": "mps"}},
        "pool.share: mps needs replicas",
        {"pool.name": "other", "pool.node_names": ["n3", "n4"]},
        missing="pool",
    ),
    Case(
        GpuDevicePlugin,
        {"pools": [POOL, SLICED, MIG], "layer": {"pull_secrets": ["pull"], "mig": "prepared"}},
        {"layer.pull_secrets[0]": "pull"},
        {"pools[1].share.replicas": 1},
        "pools[1].share.replicas: 1 is out of range: it must be at least 2",
        {"stack": "other", "layer": {"namespace": "gpu-other", "runtime_class": "other", "mig": "prepared"}},
        missing="pools",
    ),
    Case(
        GpuSharing,
        {"pools": [SLICED, MIG], "namespace": "gpu-operator"},
        {"namespace": "gpu-operator"},
        {"pools[1].share.profile": "9g.1gb"},
        "9g.1gb",
        {"stack": "other"},
        missing="namespace",
    ),
    Case(
        PriorityClasses,
        {"classes": [{"name": "serving", "value": 1000}, {"name": "training", "value": 10}]},
        {},
        {"classes[0].value": 2_000_000_000},
        "classes[0].value: 2000000000 is out of range: it must be at most 1000000000",
        {"stack": "other"},
        missing="classes",
    ),
    Case(
        Tenant,
        {"tenant": {"gpus": {"h100": 4}}, "pools": [POOL]},
        {},
        {"tenant.gpus": {"a100": 4}},
        "tenant.gpus.a100: 'a100' is not a pool of this stack; pools: h100",
        missing="tenant",
        named={"tenant.name": "it"},
    ),
)
"""Every component has one: tests/components/test_every_component.py sees to it."""
