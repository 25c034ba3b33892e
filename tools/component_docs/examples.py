"""One example for each component, as docs/components.md shows them; a test runs every one."""

POOL = """
pool: PoolSettings = {"name": "h100", "gpu": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 2, "cpu": "96", "memory": "1Ti"}
""".strip()

EXAMPLES = {
    "VllmServer": """
chat = VllmServer(
    "chat",
    {
        "server": {
            "model": {"id": "Qwen/Qwen2.5-72B-Instruct"},
            "engine": {"tensor_parallel_size": 4, "max_model_len": 16384},
            "replicas": 2,
        },
        "pool": pool,
        "namespace": namespace.metadata.name,
    },
)
pulumi.export("url", chat.url)
""",
    "RayServer": """
models = RayServer(
    "models",
    {
        "servers": [
            {"name": "chat", "model": {"id": "Qwen/Qwen2.5-72B-Instruct"}, "served_name": "chat", "pool": "h100", "gpus": 4},
            {"name": "code", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "served_name": "code", "pool": "h100"},
        ],
        "pools": [pool],
        "namespace": namespace.metadata.name,
        "service": {"token_secret": "models-token", "redis": {"address": "redis.platform.svc:6379", "secret": "redis"}},
    },
)
pulumi.export("ray", models.url)
""",
    "ModelRoute": """
ModelRoute(
    "models",
    {
        "route": {"host": "models.example.com", "gateway": "inference", "timeout_seconds": 900},
        "namespace": namespace.metadata.name,
        "backends": [{"service": "chat", "prefix": "/chat"}, {"service": "code", "prefix": "/code"}],
        "longest_answer_seconds": 900,
    },
)
""",
    "QueueAutoscaler": """
QueueAutoscaler(
    "chat",
    {
        "autoscale": {"min_replicas": 1, "max_replicas": 4, "waiting_per_replica": 8},
        "namespace": namespace.metadata.name,
        "deployment": "chat",
        "model": "chat",
        "load_seconds": 240,
    },
)
""",
    "ModelStore": """
store = ModelStore(
    "models",
    {
        "store": {
            "size": "500Gi",
            "storage_class": "shared",
            "prefetch": [{"model": "Qwen/Qwen2.5-7B-Instruct", "revision": "a09a35458c702b33eeacc393d103063234e8bc28"}],
        },
        "namespace": namespace.metadata.name,
        "pools": [pool],
    },
)
pulumi.export("claim", store.claim)
""",
    "Workspace": """
space = Workspace("assistants", {"namespace": "assistants"})
pulumi.export("namespace", space.namespace)
""",
    "NodePool": """
NodePool("h100", {"pool": {**pool, "node_names": ["gpu-node-1", "gpu-node-2"]}})
""",
    "GpuDevicePlugin": """
GpuDevicePlugin("gpu-layer", {"pools": [pool, {**pool, "name": "shared", "share": {"kind": Sharing.TIME_SLICING, "replicas": 4}}]})
""",
    "GpuSharing": """
sharing = GpuSharing(
    "sharing",
    {
        "pools": [{**pool, "name": "mig", "share": {"kind": Sharing.MIG, "profile": "1g.10gb"}}],
        "namespace": "gpu-operator",
    },
)
pulumi.export("config", sharing.mig_config_map)
""",
    "PriorityClasses": """
classes = PriorityClasses(
    "priorities",
    {"classes": [{"name": "serving", "value": 100000}, {"name": "training", "value": 1000, "preempts": False}]},
)
pulumi.export("names", classes.by_name)
""",
    "Tenant": """
Tenant("assistants", {"tenant": {"gpus": {"h100": 4}, "cpu": "32", "memory": "128Gi", "pods": 30}, "pools": [pool]})
""",
}
"""By the name of the component."""
