"""What only real containers show of a shared card: each pod sees the same one, and no pod starts without a slice."""

from functools import partial
from typing import Any

from tools.images.root import TABLE
from tools.node.testing import RealNode

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


def test_pods_share_one_card_until_its_slices_are_gone(real_node: RealNode, namespace: str) -> None:
    names = [f"slice-{number}" for number in range(real_node.free_units())]
    assert len(names) >= 2
    real_node.apply(*map(sleeper, names), namespace=namespace)
    for name in names:
        real_node.wait(f"pod/{name}", "condition=Ready", namespace, 300)
        said = real_node.until(partial(real_node.kubectl, "-n", namespace, "logs", name), "the pod's line")
        assert said.strip() == "SIM-0"
    real_node.apply(sleeper("one-more"), namespace=namespace)
    real_node.wait("pod/one-more", "jsonpath={.status.conditions[0].reason}=Unschedulable", namespace)
    assert "Insufficient nvidia.com/gpu" in real_node.get("pod", "one-more", "-n", namespace)["status"]["conditions"][0]["message"]
