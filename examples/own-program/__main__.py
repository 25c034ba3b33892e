"""A program of your own: its namespace and its claim are outputs, and the server is planned and judged before anything is made."""

import pulumi
import pulumi_kubernetes as k8s

from interlock.components.vllm_server import VllmServer

namespace = k8s.core.v1.Namespace("assistants")
here = namespace.metadata.name
weights = k8s.core.v1.PersistentVolumeClaim(
    "weights",
    metadata={"namespace": here, "annotations": {"pulumi.com/skipAwait": "true"}},
    spec={"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "50Gi"}}},
)
chat = VllmServer(
    "chat",
    {
        "server": {
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct", "path": "Qwen/Qwen2.5-7B-Instruct"},
            "served_name": "chat",
            "engine": {"max_model_len": 8192},
        },
        "pool": {"name": "h100", "gpu": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 2, "cpu": "96", "memory": "1Ti"},
        "namespace": here,
        "weights_claim": weights.metadata.name,
    },
)
pulumi.export("url", chat.url)
pulumi.export("model", chat.model)
pulumi.export("selector", chat.selector)
