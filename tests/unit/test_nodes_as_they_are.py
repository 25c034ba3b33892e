"""Node pools as a team has them: labels of others, taints of any effect, spot nodes, and a GPU layer that does not do everything."""

import re
from typing import Any

import pytest

from interlock.infra.config.taints import Taint, taint
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.device_plugin import device_plugin_objects
from interlock.infra.manifests.render import render
from interlock.infra.manifests.simulated import simulated_nodes
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tests.support.build import TODAY, config

THEIRS = {"pools[0].marked": False, "pools[0].labels": {"cloud.google.com/gke-nodepool": "h100"}}


def pod(changes: dict[str, Any]) -> dict[str, Any]:
    made = config(changes)
    found = next(each for each in render(made, plan(made, "prod")) if each["kind"] == "Deployment")
    spec: dict[str, Any] = found["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvidia.com/gpu", Taint("nvidia.com/gpu", "", "NoSchedule")),
        ("team=search", Taint("team", "search", "NoSchedule")),
        ("dedicated=llm:NoExecute", Taint("dedicated", "llm", "NoExecute")),
        ("gpu:PreferNoSchedule", Taint("gpu", "", "PreferNoSchedule")),
    ],
)
def test_a_taint_is_written_as_kubectl_writes_it(text: str, expected: Taint) -> None:
    assert taint(text) == expected


def test_pods_tolerate_the_taints_as_they_are_and_nodes_carry_them() -> None:
    changes = {"pools[0].taints": ["nvidia.com/gpu", "dedicated=llm:NoExecute"]}
    assert pod(changes)["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "dedicated", "operator": "Equal", "value": "llm", "effect": "NoExecute"},
    ]
    taints = simulated_nodes(config(changes).pools)[0]["spec"]["taints"]
    assert taints[1] == {"key": "dedicated", "value": "llm", "effect": "NoExecute"}
    assert preview(config(changes), "prod", today=TODAY).refused == ()


def test_nodes_are_found_by_labels_of_others() -> None:
    assert pod(THEIRS)["nodeSelector"] == THEIRS["pools[0].labels"]
    assert "interlock.dev/pool" not in simulated_nodes(config(THEIRS).pools)[0]["metadata"]["labels"]
    assert preview(config(THEIRS), "prod", today=TODAY).refused == ()
    layer = device_plugin_objects(config({**THEIRS, "platform": {"gpu_layer": {"kind": "device-plugin"}}}), "plat")
    (daemon,) = (each for each in layer if each["kind"] == "DaemonSet")
    node = daemon["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    row = {"key": "cloud.google.com/gke-nodepool", "operator": "In", "values": ["h100"]}
    assert node == {"nodeSelectorTerms": [{"matchExpressions": [row]}]}


def test_spot_nodes_that_go_before_a_drain_ends_are_told() -> None:
    def told(changes: dict[str, Any]) -> list[str]:
        return [each.summary for each in preview(config(changes), "prod", today=TODAY).findings if each.code == "ROLL-025"]

    karpenter = {"node_class": "gpu", "instance_types": ["p5.48xlarge"], "capacity_types": ["spot"]}
    (text,) = told({"pools[0].backend": "karpenter", "pools[0].karpenter": karpenter})
    assert "its spot node is gone 120 s after the notice" in text
    assert told({"pools[0].notice_seconds": 30})
    assert told({}) == []
    assert told({"pools[0].notice_seconds": 120, "servers[0].rollout": {"drain_seconds": 30}}) == []


PRODUCT = {"pools[0].labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}
CUT = {"pools[0].gpu": "a100", "pools[0].share": {"kind": "mig", "profile": "2g.20gb"}, "servers[0].model.id": "Qwen/Qwen2.5-0.5B-Instruct"}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"pools[0].taints": ["a=b:Never"]}, "'Never' is not an effect of a taint"),
        ({"pools[0].taints": ["a b"]}, "'a b' is not a key such as"),
        ({"pools[0].marked": False}, "state labels by which they are found"),
        ({**THEIRS, "pools[0].node_names": ["a", "b"]}, "remove it, or node_names"),
        (
            {**PRODUCT, "platform": {"gpu_layer": {"kind": "device-plugin"}}},
            "is written by GPU feature discovery, which this layer does not run",
        ),
        ({**CUT, "platform": {"gpu_layer": {"kind": "device-plugin"}}}, "the device plugin advertises MIG instances, and makes none"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        config(changes)


@pytest.mark.parametrize(
    "changes",
    [
        PRODUCT,
        {**PRODUCT, "platform": {"gpu_layer": {"kind": "device-plugin", "discovery": True}}},
        {**CUT, "platform": {"gpu_layer": {"kind": "device-plugin", "mig": "prepared"}}},
        CUT,
    ],
)
def test_what_somebody_else_does_is_not_refused(changes: dict[str, Any]) -> None:
    config(changes)
