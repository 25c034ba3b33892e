"""Replicas of several pods: planned, rendered, judged."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.cli.stackfile import read_stack
from interlock.infra.engine.args import Group
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.render import render
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from tests.support.build import TODAY, config
from tools.common import ROOT

EXAMPLES = sorted((ROOT / "examples" / "multi-node").glob("*.yaml"))
TWO = {
    "servers[0].model": {"id": "org/model", "unsized": "a test"},
    "servers[0].engine": {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "max_model_len": 8192},
}


def planned(changes: dict[str, Any]) -> ClusterPlan:
    return preview(config(changes), "dev", today=TODAY)


def made(changes: dict[str, Any], kind: str = "LeaderWorkerSet") -> dict[str, Any]:
    given = config(changes)
    return next(each for each in render(given, preview(given, "dev", today=TODAY)) if each["kind"] == kind)


def codes(plan: ClusterPlan) -> set[str]:
    return {finding.code for finding in plan.refused}


def templates(group: dict[str, Any]) -> Iterator[dict[str, Any]]:
    template = group["spec"]["leaderWorkerTemplate"]
    yield from (template["leaderTemplate"], template["workerTemplate"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_published_replicas_over_two_nodes_are_planned_rendered_and_without_a_finding(path: Path) -> None:
    read = read_stack(None, path)
    plan = preview(read.config, read.stack, read.source, today=TODAY)
    assert [(finding.code, finding.summary) for finding in plan.findings if finding.severity.value != "info"] == []
    group = next(each for each in render(read.config, plan) if each["kind"] == "LeaderWorkerSet")
    gpus = [int(each["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]) for each in templates(group)]
    assert gpus == [8, 8]
    assert group["spec"]["leaderWorkerTemplate"]["size"] == plan.servers[0].nodes == 2


def test_a_replica_that_fits_one_node_stays_a_deployment() -> None:
    plan = planned({"servers[0].engine": {"tensor_parallel_size": 4, "pipeline_parallel_size": 2, "max_model_len": 8192}})
    assert [(pods.role.value, pods.count, pods.gpus) for pods in plan.servers[0].pods] == [("server", 1, 8)]
    assert plan.servers[0].args.group is None
    assert plan.servers[0].workload == ("apps/v1", "Deployment")


def test_leader_and_worker_differ_in_what_takes_requests_and_in_nothing_else() -> None:
    leader, worker = templates(made(TWO))
    one, other = leader["spec"]["containers"][0], worker["spec"]["containers"][0]
    assert set(other["args"]) - set(one["args"]) == {"--headless"}
    assert set(one["args"]) - set(other["args"]) == {"--shutdown-timeout", "20", "--middleware", "interlock.runtime.front.Front"}
    assert {"startupProbe", "readinessProbe", "livenessProbe", "ports"} == one.keys() - other.keys()
    assert one["env"] == other["env"]
    assert one["resources"] == other["resources"]
    assert leader["spec"]["terminationGracePeriodSeconds"] == worker["spec"]["terminationGracePeriodSeconds"] == 650
    waits = [each["lifecycle"]["preStop"]["sleep"]["seconds"] for each in (one, other)]
    assert waits == [15, 15], "the worker's supervisor waits for its leader"


def test_a_bare_worker_outlives_the_requests_of_its_leader() -> None:
    leader, worker = templates(made(TWO | {"servers[0].runtime": {"supervised": False}}))
    one, other = leader["spec"]["containers"][0], worker["spec"]["containers"][0]
    assert (one["lifecycle"]["preStop"]["sleep"]["seconds"], other["lifecycle"]["preStop"]["sleep"]["seconds"]) == (15, 615)
    assert leader["spec"]["terminationGracePeriodSeconds"] == worker["spec"]["terminationGracePeriodSeconds"] == 625


def test_requests_reach_the_leader_only_unless_every_node_takes_them() -> None:
    selector = made(TWO, "Service")["spec"]["selector"]
    leader, worker = (each["metadata"]["labels"].items() for each in templates(made(TWO)))
    assert selector.items() <= leader
    assert not selector.items() <= worker
    spread = {**TWO, "servers[0].balance": "nodes", "servers[0].engine": {"data_parallel_size": 16, "max_model_len": 8192}}
    both = made(spread, "Service")["spec"]["selector"].items()
    assert all(both <= each["metadata"]["labels"].items() for each in templates(made(spread)))
    assert all("readinessProbe" in each["spec"]["containers"][0] for each in templates(made(spread)))


@pytest.mark.parametrize(
    ("group", "worker", "words"),
    [
        (Group(nodes=2), False, []),
        (Group(nodes=2), True, ["--headless"]),
        (Group(nodes=2, local=8), False, ["--data-parallel-hybrid-lb", "--data-parallel-size-local", "8"]),
        (Group(nodes=2, local=8), True, ["--data-parallel-hybrid-lb", "--data-parallel-size-local", "8"]),
        (Group(nodes=16, local=1), True, ["--data-parallel-external-lb"]),
    ],
)
def test_what_a_pod_is_told_about_its_group(group: Group, worker: bool, words: list[str]) -> None:
    common = ["--nnodes", str(group.nodes), "--node-rank", "$(LWS_WORKER_INDEX)", "--master-addr", "$(LWS_LEADER_ADDRESS)"]
    assert group.words(worker=worker) == [*common, *words]


def test_a_replica_over_two_nodes_is_refused_where_the_pool_has_one() -> None:
    assert planned(TWO).refused == ()
    plan = planned({**TWO, "pools[0].nodes": 1})
    assert codes(plan) == {"GPU-004"}
    assert "or let a replica take fewer GPUs" in plan.refused[0].remedy, "a single replica cannot become fewer"


def test_a_layout_that_does_not_divide_is_refused_with_the_sum_over_its_pods() -> None:
    plan = planned({**TWO, "servers[0].nodes": 3, "pools[0].nodes": 3})
    assert any("1 leader x 5 + 2 worker x 5" in finding.summary for finding in plan.refused if finding.code == "GPU-001")


@pytest.mark.parametrize(
    ("domain", "nodes", "replicas", "refused"),
    [(2, 2, 1, False), (4, 4, 1, False), (1, 2, 1, True), (2, 4, 2, False), (4, 4, 2, True)],
)
def test_a_replica_lies_in_one_domain_alone_or_is_refused(domain: int, nodes: int, replicas: int, refused: bool) -> None:
    changes = {
        **TWO,
        "pools[0].domain": {"label": "topology.kubernetes.io/rack", "nodes": domain},
        "pools[0].nodes": nodes,
        "servers[0].replicas": replicas,
    }
    assert codes(planned(changes)) == ({"GPU-024"} if refused else set())
    annotations = made(changes)["metadata"]["annotations"]
    assert annotations["leaderworkerset.sigs.k8s.io/exclusive-topology"] == "topology.kubernetes.io/rack"


def test_a_version_without_the_executor_over_nodes_is_refused() -> None:
    image = {"servers[0].image.reference": "vllm/vllm-openai:v0.10.2"}
    assert "ARG-001" in codes(planned({**TWO, **image}))


def test_the_surge_replica_needs_room_on_as_many_nodes_as_a_replica_takes() -> None:
    assert planned({**TWO, "pools[0].nodes": 3}).servers[0].surge == 0
    assert planned({**TWO, "pools[0].nodes": 4}).servers[0].surge == 1


def test_an_autoscaler_scales_whole_replicas() -> None:
    scale = {"servers[0].autoscale": {"max_replicas": 2}, "pools[0].nodes": 4}
    target = made({**TWO, **scale}, "ScaledObject")["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "chat"}
    assert "replicas" not in made({**TWO, **scale})["spec"]


def test_a_worker_that_is_killed_before_its_leader_has_answered_is_found() -> None:
    patched = {**TWO, "servers[0].extra": {"pod_patch": {"terminationGracePeriodSeconds": 300}}}
    assert "ROLL-010" in codes(planned(patched))


def test_the_group_is_read_back_as_one_replica_of_all_its_gpus() -> None:
    text = yaml.safe_dump(made(TWO))
    assert "nvidia.com/gpu" in text
    assert planned(TWO).servers[0].gpus == 16


def test_the_plan_spreads_a_model_that_no_node_holds_and_says_why() -> None:
    whole = {
        "pools[0].gpu": "h200",
        "servers[0].model": {"id": "deepseek-ai/DeepSeek-R1"},
        "servers[0].engine": {"max_model_len": 32768},
        "pools[0].memory": "1800Gi",
    }
    fp8 = planned({**whole, "pools[0].gpu": "h100-80gb-sxm"}).servers[0]
    assert (fp8.args.engine.tp, fp8.args.engine.pp, fp8.nodes) == (8, 2, 2)
    assert fp8.why["layout"].value == "2 pods x 8 GPUs = 16"
    assert planned(whole).servers[0].nodes == 1


def test_gpus_of_two_nodes_are_stages_of_layers_on_each_node() -> None:
    server = planned({"servers[0].model": {"id": "org/model", "unsized": "a test"}, "servers[0].gpus": 16}).servers[0]
    assert (server.args.engine.tp, server.args.engine.pp, server.nodes) == (8, 2, 2)


def test_what_says_how_a_replica_lies_is_not_stated_among_the_engines_arguments() -> None:
    with pytest.raises(ConfigError, match=r"servers\[\]\.nodes"):
        config({"servers[0].engine": {"nnodes": 2}})
