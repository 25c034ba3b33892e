"""The smallest config and the smallest Deployment in which no rule finds anything above info, and one change of either."""

import datetime as dt
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

from interlock.infra.config import ClusterConfig, load
from interlock.infra.paths import steps_of

TODAY = dt.date(2026, 12, 1)
"""The day on which tests judge."""


def config_data(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One pool of two nodes and one server, as a person writes it, each path of ``changes`` set."""
    data = {
        "target": {"local": "dev"},
        "namespace": "team-a",
        "pools": [{"name": "h100", "gpu": "h100-80gb-sxm", "nodes": 2, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"}],
        "servers": [
            {
                "name": "chat",
                "model": {"id": "Qwen/Qwen2.5-7B-Instruct", "revision": "a09a35458c702b33eeacc393d103063234e8bc28"},
                "pool": "h100",
                "engine": {"max_model_len": 8192},
            }
        ],
    }
    for path, value in (changes or {}).items():
        data = changed(data, path, value)
    return data


def config(changes: Mapping[str, Any] | None = None) -> ClusterConfig:
    """``config_data`` loaded. Raises ConfigError."""
    return load(config_data(changes))


def deployment(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A Deployment of vLLM as others write it, each path of ``changes`` set."""
    get = {"httpGet": {"path": "/health", "port": "http"}, "timeoutSeconds": 5}
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.33.0",
        "command": ["vllm", "serve"],
        "args": ["Qwen/Qwen2.5-7B-Instruct", "--max-model-len=8192", "--shutdown-timeout=600"],
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": {
            "requests": {"cpu": "4", "memory": "32Gi", "nvidia.com/gpu": "1"},
            "limits": {"memory": "32Gi", "nvidia.com/gpu": "1"},
        },
        "startupProbe": {**get, "periodSeconds": 10, "failureThreshold": 90},
        "readinessProbe": {**get, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**get, "periodSeconds": 10, "failureThreshold": 6},
        "lifecycle": {"preStop": {"sleep": {"seconds": 15}}},
    }
    pod = {"enableServiceLinks": False, "terminationGracePeriodSeconds": 640, "containers": [container]}
    data: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "chat", "namespace": "team-a"},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": 1200,
            "selector": {"matchLabels": {"app": "chat"}},
            "template": {"metadata": {"labels": {"app": "chat"}}, "spec": pod},
        },
    }
    for path, value in (changes or {}).items():
        data = changed(data, path, value)
    return data


def engine_text(name: str = "chat", image: str = "vllm/vllm-openai:v0.33.0", args: Sequence[str] = (), gpus: int = 2) -> str:
    """The text of a file with one small Deployment of vLLM, for tests that ask where in it something stands."""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers:
        - name: engine
          image: {image}
          args: [{", ".join(args)}]
          resources:
            limits:
              nvidia.com/gpu: {gpus}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""


def changed(data: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of ``data`` with ``value`` at ``path``, what lies between made; an index one past the end appends, None removes a key."""
    made: Any = deepcopy(dict(data))
    steps = steps_of(path)
    place = made
    for step, following in pairwise(steps):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int) and step == len(place):
            place.append(empty)
        place = place.setdefault(step, empty) if isinstance(step, str) else place[step]
    last = steps[-1]
    if isinstance(last, int) and last == len(place):
        place.append(value)
    elif value is None and isinstance(last, str):
        place.pop(last, None)
    else:
        place[last] = value
    return dict(made)
