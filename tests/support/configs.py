"""Hypothesis strategies of whole configs, as a person writes them: sensible, odd and contradictory ones."""

from typing import Any

from hypothesis import strategies as st

MODELS = ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-72B-Instruct", "acme/secret-13b", "org/model")
POOLS: tuple[dict[str, Any], ...] = (
    {"gpu": "h100-80gb-sxm", "nodes": 2, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"},
    {"gpu": "l4", "nodes": 3, "gpus_per_node": 1, "cpu": "16", "memory": "64Gi"},
    {"gpu": "l4", "nodes": 2, "gpus_per_node": 8, "cpu": "96", "memory": "512Gi"},
    {"gpu": "l4", "nodes": 3, "gpus_per_node": 1, "cpu": "4", "memory": "16Gi"},
    {"gpu": "l4", "nodes": 2, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 4}},
    {"gpu": "a100-40gb-sxm", "nodes": 1, "gpus_per_node": 8, "share": {"kind": "mig", "profile": "2g.10gb"}},
    {"gpu": "h100-80gb-sxm", "nodes": 1, "gpus_per_node": 4, "allocation": "claim"},
    {"gpu": "h100-80gb-sxm", "nodes": 4, "gpus_per_node": 8, "labels": {"zone": "a"}, "taints": ["gpu", "team"]},
)
# What a server may say beyond its model and pool: field to values.
_FIELDS: dict[str, list[Any]] = {
    "replicas": [1, 2, 3, 8],
    "gpus": [1, 2, 4],
    "served_name": ["chat"],
    "memory": ["2Gi", "64Gi"],
    "cpu": ["4"],
    "shm": ["2Gi"],
    "startup_seconds": [30, 900],
    "longest_answer_seconds": [30, 600, 1800],
    "weights": ["weights"],
    "compile_cache": ["weights"],
    "hub_token_secret": ["hub"],
    "priority_class": ["serving", "system-cluster-critical"],
    "rollout": [{"strategy": "surge"}, {"strategy": "in-place"}, {"strategy": "recreate"}, {"drain_seconds": 60}],
    "autoscale": [{"max_replicas": 4}, {"kind": "hpa", "min_replicas": 2, "max_replicas": 3, "waiting_per_replica": 4}],
    "route": [
        {"host": "a.example.org"},
        {"host": "a.example.org", "timeout_seconds": 60, "gateway_namespace": "gateways"},
        {"host": "a.example.org", "kind": "ingress", "timeout_seconds": 1200, "tls_secret": "tls"},
        {"host": "a.example.org", "kind": "load-balancer"},
    ],
    "image": [{"reference": "vllm/vllm-openai:v0.30.0"}, {"registry": "mirror.example.org"}, {"pull_secrets": ["pull"]}],
    "extra": [
        {"args": ["--max-num-seqs", "64"]},
        {"args": ["--shutdown-timeout=900"]},
        {"env": {"NCCL_DEBUG": "INFO", "VLLM_LOGGING_LEVEL": "DEBUG"}},
        {"annotations": {"team.example.org/owner": "chat"}},
        {"tolerations": [{"key": "spot", "operator": "Exists"}]},
        {"args": ["-tp", "2"]},
        {"args": ["--port=9000"]},
        {"pod_patch": {"terminationGracePeriodSeconds": 5}},
        {"pod_patch": {"volumes": None}},
        {"pod_patch": {"containers": [{"name": "engine", "resources": {"limits": {"nvidia.com/gpu": 0}}}]}},
        {"pod_patch": {"containers": [{"name": "engine", "resources": {"limits": {"memory": "20Gi"}}}]}},
    ],
}
_ENGINE: dict[str, list[Any]] = {
    "tensor_parallel_size": [1, 2, 3, 4],
    "pipeline_parallel_size": [2],
    "max_model_len": [4096, 16384, 300000],
    "max_num_seqs": [64],
    "gpu_memory_utilization": [0.5, 0.9],
    "enforce_eager": [True],
    "dtype": ["bfloat16"],
}
PRIORITIES = {"priority_classes": [{"name": "serving", "value": 100}]}


def _some(fields: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A few of ``fields``, each with one of its values."""
    names = st.lists(st.sampled_from(sorted(fields)), unique=True, max_size=4)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: st.sampled_from(fields[name]) for name in chosen}))


@st.composite
def servers(draw: st.DrawFn, index: int, pools: list[str]) -> dict[str, Any]:
    """One server."""
    made = {"name": f"s{index}", "model": {"id": draw(st.sampled_from(MODELS))}, "pool": draw(st.sampled_from(pools))}
    fields = draw(_some(_FIELDS))
    if "autoscale" in fields:
        fields.pop("replicas", None)  # an autoscaled server states none
    if "route" in fields:
        fields["route"] = {**fields["route"], "host": f"s{index}.example.org"}  # two servers never share one
    return {**made, "engine": draw(_some(_ENGINE)), **fields}


@st.composite
def written(draw: st.DrawFn) -> dict[str, Any]:
    """A whole config of one or two pools and up to three servers, as a person writes it."""
    pools = [{"name": f"p{index}", **draw(st.sampled_from(POOLS))} for index in range(draw(st.integers(1, 2)))]
    names = [pool["name"] for pool in pools]
    listed = [draw(servers(index, names)) for index in range(draw(st.integers(1, 3)))]
    return {
        "target": {"local": "dev"},
        "namespace": "laws",
        "pools": pools,
        "stores": [{"name": "weights", "access": "ReadWriteMany", "size": "1Ti", "filled": "a test"}],
        "servers": listed,
        "platform": PRIORITIES,
    }
