"""The cluster-wide components and stores against a recording engine."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from interlock.cli.stackfile import read_stack
from interlock.components._made import planned
from interlock.components.arguments.pools import PoolSettings
from interlock.components.model_store import ModelStore
from interlock.components.node_pool import NodePool
from interlock.infra.config import ClusterConfig, load
from interlock.infra.config.pools import PoolBackend
from interlock.infra.manifests.bundles import store_bundle
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.stacks.program import deploy
from interlock.stacks.settings import Settings
from tools.common import ROOT

POOL: PoolSettings = {"name": "h100", "gpu": "h100", "nodes": 2, "gpus_per_node": 8}


def config(**more: Any) -> ClusterConfig:
    return load({"target": {"local": "dev"}, "namespace": "ml", "pools": [POOL], **more})


def platform(run_program: Callable[..., Any]) -> Any:
    read = read_stack("platform", None, ROOT)
    settings = Settings("platform", "Pulumi.platform.yaml", read.config, "/nowhere/kubeconfig", "interlock-platform")
    return run_program(lambda: deploy(settings, plan(read.config, "platform"), "uid-1"))


def identity(inputs: dict[str, Any]) -> tuple[str, str | None, str]:
    return inputs["kind"], inputs["metadata"].get("namespace"), inputs["metadata"]["name"]


def test_the_platform_stack_registers_exactly_what_it_renders(run_program: Callable[..., Any]) -> None:
    read = read_stack("platform", None, ROOT)
    registered = [identity(each.inputs) for each in platform(run_program).resources if "metadata" in each.inputs]
    rendered = [identity(each) for each in render(read.config, plan(read.config, "platform"))]
    assert sorted(registered, key=str) == sorted(rendered, key=str)
    assert len(set(registered)) == len(registered)


def test_nodes_are_patched_and_never_owned(run_program: Callable[..., Any]) -> None:
    types = {each.type for each in platform(run_program).resources if each.inputs.get("kind") == "Node"}
    assert types == {"kubernetes:core/v1:NodePatch"}


def test_claims_are_not_waited_for(run_program: Callable[..., Any]) -> None:
    made = config(stores=[{"name": "models", "kind": "local", "path": "/mnt", "nodes": ["n1"]}])
    recorded = run_program(lambda: ModelStore("models", planned(store_bundle(made, "dev", 0))))
    (claim,) = [each.inputs for each in recorded.resources if each.inputs.get("kind") == "PersistentVolumeClaim"]
    assert claim["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_a_managed_pool_is_made_by_the_hook_from_what_pods_ask_for(run_program: Callable[..., Any]) -> None:
    managed: PoolSettings = {**POOL, "backend": PoolBackend.MANAGED}
    asked: list[Any] = []

    def hook(name: str, intent: Any, options: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        asked.append((name, intent, options.parent))
        return []

    run_program(lambda: NodePool("pool", {"pool": managed}, managed=hook))
    ((name, intent, parent),) = asked
    assert name == "pool"
    assert isinstance(parent, NodePool)
    assert intent.labels["interlock.dev/pool"] == "h100"


def test_a_managed_pool_without_a_hook_is_refused(run_program: Callable[..., Any]) -> None:
    with pytest.raises(pulumi.RunError, match="give NodePool a `managed` hook"):
        run_program(lambda: NodePool("pool", {"pool": {**POOL, "backend": PoolBackend.MANAGED}}))


def test_two_serving_stacks_and_a_platform_share_no_object(run_program: Callable[..., Any]) -> None:
    platform_stack = read_stack("platform", None, ROOT).config
    server = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "h100", "weights": "models"}
    store = {"name": "models", "kind": "nfs", "server": "nfs", "path": "/x"}
    stacks = {name: config(scope="serving", namespace=name, servers=[server], stores=[store]) for name in ("team-a", "team-b")}
    stacks["platform"] = platform_stack
    objects = [identity(each) for name, made in stacks.items() for each in render(made, plan(made, name))]
    assert len(set(objects)) == len(objects)
