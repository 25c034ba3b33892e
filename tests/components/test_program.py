from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from interlock.cli.stackfile import read_stack
from interlock.infra.config import ClusterConfig, load
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from interlock.stacks.program import deploy, report
from interlock.stacks.settings import Settings
from tests.support import TODAY

ROOT = Path(__file__).resolve().parents[2]


def settings_of(config: ClusterConfig, stack: str = "dev") -> Settings:
    return Settings(stack, f"Pulumi.{stack}.yaml", config, "/nowhere/kubeconfig", "interlock-dev")


def deployed(run_program: Callable[..., Any], config: ClusterConfig, **options: Any) -> Any:
    made = plan(config, "dev")
    return run_program(lambda: deploy(settings_of(config), made, "uid-1"), **options)


@pytest.fixture
def dev() -> ClusterConfig:
    return read_stack("dev", None, ROOT).config


def test_the_dev_stack_registers_its_namespace_deployment_and_service(run_program: Callable[..., Any], dev: ClusterConfig) -> None:
    recorded = deployed(run_program, dev)
    for kind in ("Namespace", "Deployment", "Service"):
        assert kind in recorded.kinds()


def test_every_kubernetes_object_goes_to_the_named_cluster_and_none_to_an_ambient_one(
    run_program: Callable[..., Any], dev: ClusterConfig
) -> None:
    recorded = deployed(run_program, dev)
    providers = [each for each in recorded.resources if each.type == "pulumi:providers:kubernetes"]
    assert [each.inputs["context"] for each in providers] == ["interlock-dev"]
    assert providers[0].inputs["clusterIdentifier"] == "uid-1"
    objects = [each for each in recorded.resources if each.custom and each.type.startswith("kubernetes:")]
    assert objects
    assert all("pulumi:providers:kubernetes::" in each.provider for each in objects)


@pytest.mark.parametrize("file", sorted(ROOT.glob("Pulumi.*.yaml")), ids=lambda file: file.name)
def test_every_stack_file_disables_the_ambient_provider(file: Path) -> None:
    assert "kubernetes" in yaml.safe_load(file.read_text("utf-8"))["config"]["pulumi:disable-default-providers"]


def test_no_two_objects_share_kind_namespace_and_name(run_program: Callable[..., Any], dev: ClusterConfig) -> None:
    recorded = deployed(run_program, dev)
    objects = [
        (each.inputs["kind"], each.inputs["metadata"].get("namespace"), each.inputs["metadata"]["name"])
        for each in recorded.resources
        if "metadata" in each.inputs
    ]
    assert len(set(objects)) == len(objects)


def test_the_same_config_registers_the_same_inputs_twice(run_program: Callable[..., Any], dev: ClusterConfig) -> None:
    first, second = deployed(run_program, dev), deployed(run_program, dev)
    key = lambda each: (each.type, each.name)  # noqa: E731
    assert sorted(first.resources, key=key) == sorted(second.resources, key=key)


def test_a_preview_does_not_raise(run_program: Callable[..., Any], dev: ClusterConfig) -> None:
    assert "Deployment" in deployed(run_program, dev, preview=True).kinds()


def test_the_outputs_name_urls_models_gpus_pools_and_limits(run_program: Callable[..., Any], dev: ClusterConfig) -> None:
    outputs = deployed(run_program, dev).outputs["interlock"]
    assert outputs["version"] == 1
    assert outputs["cluster_uid"] == "uid-1"
    chat = outputs["servers"]["chat"]
    assert chat["url"] == "http://chat.interlock-dev.svc.cluster.local/v1"
    assert (chat["pool"], chat["gpus"], chat["limits"]["max_model_len"]) == ("l4", 1, 8192)


def test_a_refused_plan_stops_before_the_first_resource_and_lists_every_contradiction(run_program: Callable[..., Any]) -> None:
    bad = load(
        {
            "target": {"local": "dev"},
            "namespace": "bad",
            "pools": [{"name": "h100", "gpu": "h100", "nodes": 1, "gpus_per_node": 8}],
            "servers": [
                {
                    "name": "a",
                    "model": {"id": "x/y", "attention_heads": 64, "unsized": "a test"},
                    "pool": "h100",
                    "gpus": 2,
                    "engine": {"tensor_parallel_size": 4},
                },
                {
                    "name": "b",
                    "model": {"id": "x/y", "attention_heads": 28, "unsized": "a test"},
                    "pool": "h100",
                    "engine": {"tensor_parallel_size": 8},
                },
            ],
        }
    )
    made = preview(bad, "dev", today=TODAY)
    with pytest.raises(pulumi.RunError) as refused:
        report(made)
    text = str(refused.value)
    assert "nothing was changed" in text
    assert "GPU-001 error: servers[0].gpus = 2: TP 4 x PP 1 = 4 GPUs, but the replica asks for 2" in text
    assert "GPU-002 error: servers[1].engine.tensor_parallel_size = 8" in text
    assert text.count("fix:") >= 2


@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "multi-node").glob("*.yaml")), ids=lambda file: file.stem)
def test_a_preview_of_replicas_on_several_nodes_registers_their_sets_without_a_finding(run_program: Callable[..., Any], file: Path) -> None:
    config = load({**yaml.safe_load(file.read_text("utf-8")), "target": {"local": "dev"}})
    assert preview(config, "dev", today=TODAY).refused == ()
    recorded = deployed(run_program, config, preview=True)
    (made,) = [each.inputs for each in recorded.resources if each.inputs.get("kind") == "LeaderWorkerSet"]
    assert made["spec"]["leaderWorkerTemplate"]["size"] == 2
    assert "Deployment" not in recorded.kinds()
