"""What only real containers show: time slices, an engine that runs out of memory, weights that are not there."""

from functools import partial
from pathlib import Path
from typing import Any

from tools.images.root import TABLE
from tools.node.testing import RealNode

FAILURES = Path(__file__).parents[1] / "data" / "failures"
SHOW = "import os, time; print(os.environ['NVIDIA_VISIBLE_DEVICES'], flush=True); time.sleep(600)"


def sleeper(name: str) -> dict[str, Any]:
    unit = {"nvidia.com/gpu": "1"}
    container = {"name": "show", "image": TABLE["python"], "command": ["python3", "-c", SHOW], "resources": {"limits": unit}}
    spec = {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_two_pods_share_one_card_and_a_third_finds_no_slice(real_node: RealNode, namespace: str) -> None:
    real_node.apply(sleeper("one"), sleeper("two"), namespace=namespace)
    for name in ("one", "two"):
        real_node.wait(f"pod/{name}", "condition=Ready", namespace)
        assert real_node.until(partial(real_node.kubectl, "-n", namespace, "logs", name), "the pod's line").strip() == "SIM-0"
    real_node.apply(sleeper("three"), namespace=namespace)
    real_node.wait("pod/three", "jsonpath={.status.conditions[0].reason}=Unschedulable", namespace)
    assert "Insufficient nvidia.com/gpu" in real_node.pod_named(namespace, "three")["status"]["conditions"][0]["message"]
