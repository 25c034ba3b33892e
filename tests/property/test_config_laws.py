"""Laws of the configuration: whatever stands in whatever field, there is a plan or a list of problems, and never a traceback."""

import copy
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.render import render
from interlock.infra.preview import preview
from interlock.stacks.model_files import read_cluster
from tests.support import TODAY

SEVERAL = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
MODEL = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100}
WHOLE: dict[str, Any] = {
    "target": {"context": "c"},
    "namespace": "chat",
    "pools": [
        {"name": "h100", "gpu": "h100", "nodes": 2, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti", "gpu_memory": "80Gi"},
        {"name": "sliced", "gpu": "l4", "nodes": 1, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 2}},
    ],
    "stores": [{"name": "weights", "size": "10Gi", "filled": "a test"}],
    "servers": [
        {
            "name": "qwen",
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct", "weights_gib": 15.0, "max_position": 4096, "attention_heads": 28},
            "pool": "h100",
            "gpus": 1,
            "memory": "64Gi",
            "engine": {"max_model_len": 4096, "speculative_config": {"method": "ngram", "num_speculative_tokens": 2}},
            "extra": {"args": ["--max-num-seqs", "8"], "env": {"A": "b"}, "pod_patch": {"containers": [{"name": "engine"}]}},
            "rollout": {"drain_seconds": 60},
            "route": {"host": "a.example.org"},
        },
        {"name": "own", "model": {"id": "acme/own", "config": MODEL}, "pool": "sliced", "autoscale": {"max_replicas": 1}},
    ],
    "waivers": [{"code": "GPU-001", "reason": "a test"}],
    "rules": {"ROLL-001.least_seconds": 120},
}
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", " ", "ü", "a\nb", "-1", "1e400", "9" * 70, "{", "${x}", "\x00", 10**30, -1, 0, 1e300, float("nan")]),
    st.just([]),
    st.just({}),
    st.lists(st.none() | st.integers() | st.text(max_size=5) | st.just({}), max_size=2),
    st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=2),
)


def places(node: Any, trail: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every field and item of ``node``."""
    parts = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    return [place for key, value in parts for place in ((*trail, key), *places(value, (*trail, key)))]


def put(data: Any, place: tuple[str | int, ...], value: Any) -> Any:
    made = copy.deepcopy(data)
    inner = made
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return made


def read(data: Any) -> tuple[ClusterConfig | None, tuple[Problem, ...]]:
    try:
        return read_cluster(data, Path(), "odd.yaml"), ()
    except ConfigError as error:
        return None, error.problems


@SEVERAL
@given(st.sampled_from(places(WHOLE)), ODD)
def test_an_odd_value_anywhere_is_planned_or_told(place: tuple[str | int, ...], value: Any) -> None:
    config, problems = read(put(WHOLE, place, value))
    assert all(problem.path and problem.message for problem in problems)
    assert not any(word in problem.message for problem in problems for word in ("Input should be", "NoneType", "after validation"))
    if config is not None:
        render(config, preview(config, "odd", today=TODAY))
