"""Two servers behind one host: https://models.example.com/chat/v1 and https://models.example.com/code/v1."""

import pulumi

from interlock.components.arguments.pools import PoolSettings
from interlock.components.model_route import ModelRoute
from interlock.components.vllm_server import VllmServer
from interlock.components.workspace import Workspace

POOL: PoolSettings = {"name": "h100", "gpu": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 2, "cpu": "96", "memory": "1Ti"}
MODELS = {"chat": "Qwen/Qwen2.5-7B-Instruct", "code": "Qwen/Qwen2.5-0.5B-Instruct"}

space = Workspace("models", {"namespace": "models"})
servers = [
    VllmServer(
        name,
        {
            "server": {"model": {"id": model}, "served_name": name, "engine": {"max_model_len": 8192}, "longest_answer_seconds": 900},
            "pool": POOL,
            "namespace": space.namespace,
        },
    )
    for name, model in MODELS.items()
]
route = ModelRoute(
    "models",
    {
        "route": {"host": "models.example.com", "gateway": "inference", "gateway_namespace": "gateways", "timeout_seconds": 900},
        "namespace": space.namespace,
        "backends": [{"service": server.service, "prefix": f"/{name}"} for name, server in zip(MODELS, servers, strict=True)],
        "longest_answer_seconds": 900,
    },
)
pulumi.export("urls", route.urls)
