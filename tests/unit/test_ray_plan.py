"""Servers in a RayService: what is planned and rendered for them, and what is refused."""

import json
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import previewed
from interlock.infra.recognise import Document, recognise
from tests.support.build import TODAY, config, config_data
from tools.common import ROOT

RAY = {"servers[0].serve": "ray"}
TWO_NODES = {
    "servers[0].model": {"id": "meta-llama/Llama-3.1-405B-Instruct"},
    "servers[0].hub_token_secret": "hub",
    "servers[0].engine": {"tensor_parallel_size": 8, "pipeline_parallel_size": 2, "max_model_len": 16384},
}


def objects(changes: dict[str, Any]) -> tuple[ClusterPlan, list[dict[str, Any]]]:
    made = previewed(config(RAY | changes), "dev", today=TODAY)
    return made.plan, [draft.manifest for draft in made.objects.drafts]


def service(changes: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in objects(changes)[1] if each["kind"] == "RayService")


def groups(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["groupName"]: each for each in made["spec"]["rayClusterConfig"]["workerGroupSpecs"]}


def application(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made["spec"]["serveConfigV2"])["applications"][0]
    return found


def test_the_head_takes_no_work_and_no_gpus_and_only_the_models_own_pods_offer_what_its_bundles_ask_for() -> None:
    made = service({})
    head = made["spec"]["rayClusterConfig"]["headGroupSpec"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert "nvidia.com/gpu" not in str(head)
    bundle = application(made)["args"]["llm_configs"][0]["placement_group_config"]["bundle_per_worker"]
    offered = {name: yaml.safe_load(group["rayStartParams"]["resources"].strip("'")) for name, group in groups(made).items()}
    assert bundle == {"GPU": 1, "chat-gpu": 1}
    assert offered == {"ingress": {"ingress": 1}, "chat": {"chat-gpu": 1}}


def test_a_replica_over_two_nodes_is_one_group_with_two_hosts_whose_placement_group_fills_both() -> None:
    plan, made = objects(TWO_NODES)
    found = next(each for each in made if each["kind"] == "RayService")
    group = groups(found)["chat"]
    assert not plan.refused
    assert (group["numOfHosts"], group["replicas"]) == (2, 1)
    assert group["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8"
    placed = application(found)["args"]["llm_configs"][0]["placement_group_config"]
    assert placed["strategy"] == "PACK"
    assert "--nnodes" not in plan.servers[0].args.to_argv()


def test_a_tensor_inside_one_pod_is_packed_strictly() -> None:
    changes = {"servers[0].gpus": 4, "servers[0].engine.tensor_parallel_size": 2, "servers[0].engine.pipeline_parallel_size": 2}
    assert application(service(changes))["args"]["llm_configs"][0]["placement_group_config"]["strategy"] == "STRICT_PACK"


def test_data_parallel_ranks_have_their_own_builder_and_a_placement_group_each() -> None:
    plan, made = objects({"servers[0].engine.data_parallel_size": 4})
    found = application(next(each for each in made if each["kind"] == "RayService"))
    assert not plan.refused
    assert found["import_path"] == "ray.serve.llm:build_dp_openai_app"
    assert found["args"]["llm_config"]["deployment_config"]["num_replicas"] == 1
    planned = plan.servers[0].ray
    assert planned is not None
    assert (planned.world, planned.ranks, planned.bundles) == (1, 4, 4)


def test_the_token_opens_the_cluster_and_only_the_operator_reaches_the_dashboard() -> None:
    _, made = objects({})
    found = next(each for each in made if each["kind"] == "RayService")["spec"]["rayClusterConfig"]
    assert found["authOptions"] == {"mode": "token", "secretName": "chat-ray-token"}
    pods = [found["headGroupSpec"], *found["workerGroupSpecs"]]
    for pod in pods:
        env = {each["name"]: each for each in pod["template"]["spec"]["containers"][0]["env"]}
        assert env["RAY_AUTH_MODE"]["value"] == "token"
        assert env["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"] == {"name": "chat-ray-token", "key": "auth_token"}
        assert pod["template"]["spec"]["enableServiceLinks"] is False
        assert pod["template"]["metadata"]["labels"]["interlock.dev/ray"] == "chat"
    policies = [each["spec"] for each in made if each["kind"] == "NetworkPolicy"]
    to_dashboard = [rule for each in policies for rule in each["ingress"] if "'port': 8265" in str(rule)]
    assert [list(rule["from"][0]) for rule in to_dashboard] == [["namespaceSelector", "podSelector"]]
    assert not [rule for each in policies for rule in each["ingress"] if "from" not in rule]
    opened = [each["spec"] for each in objects({"network": {"policies": False}})[1] if each["kind"] == "NetworkPolicy"]
    everybody = [rule for each in opened for rule in each["ingress"] if "from" not in rule]
    assert [[port["port"] for port in rule["ports"]] for rule in everybody] == [[8000, 8080]]


def test_answers_end_before_anything_that_serves_them_is_gone() -> None:
    made = service({"servers[0].longest_answer_seconds": 1200})
    spec, found = made["spec"], application(made)["args"]
    worker = groups(made)["chat"]["template"]["spec"]
    script = worker["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1]
    assert spec["rayClusterDeletionDelaySeconds"] >= 1200
    assert found["llm_configs"][0]["deployment_config"]["graceful_shutdown_timeout_s"] == 1200
    assert found["ingress_deployment_config"]["graceful_shutdown_timeout_s"] == 1200
    assert "--deadline-remaining-seconds 1200" in script
    assert worker["terminationGracePeriodSeconds"] > 15 + 1200
    env = {each["name"]: each.get("value") for each in worker["containers"][0]["env"]}
    assert env["RAY_SERVE_LLM_ROUTER_HTTP_TIMEOUT"] == "1200"


def test_serve_scales_by_what_a_replica_runs_and_not_below_its_own_start() -> None:
    made = service({"servers[0].autoscale": {"max_replicas": 4, "scale_down_seconds": 10}, "servers[0].engine.max_num_seqs": 64})
    found = application(made)["args"]["llm_configs"][0]["deployment_config"]
    scaling, group = found["autoscaling_config"], groups(made)["chat"]
    assert (scaling["min_replicas"], scaling["max_replicas"], scaling["target_ongoing_requests"]) == (1, 4, 32)
    assert scaling["downscale_delay_s"] > 300
    assert (group["minReplicas"], group["maxReplicas"]) == (1, 4)
    assert "replicas" not in group
    assert made["spec"]["rayClusterConfig"]["enableInTreeAutoscaling"] is True


@pytest.mark.parametrize(("nodes", "upgrade"), [(1, "None"), (2, "NewCluster")])
def test_a_second_cluster_comes_first_only_where_the_pool_holds_both(nodes: int, upgrade: str) -> None:
    made = service({"pools[0].nodes": nodes, "servers[0].gpus": 8, "servers[0].engine.tensor_parallel_size": 4, **_PP})
    assert made["spec"]["upgradeStrategy"]["type"] == upgrade


_PP = {"servers[0].engine.pipeline_parallel_size": 2}


def test_a_redis_keeps_the_state_and_then_the_head_may_be_drained() -> None:
    redis = {"address": "redis:6379", "secret": "redis"}
    _, made = objects({"ray_services": [{"name": "chat", "redis": redis}], "servers[0].ray_service": "chat"})
    found = next(each for each in made if each["kind"] == "RayService")["spec"]["rayClusterConfig"]
    assert found["gcsFaultToleranceOptions"]["redisPassword"]["valueFrom"]["secretKeyRef"] == {"name": "redis", "key": "password"}
    kept = {each["metadata"]["name"] for each in made if each["kind"] == "PodDisruptionBudget"}
    assert kept == {"chat-ingress"}
    assert {each["metadata"]["name"] for each in objects({})[1] if each["kind"] == "PodDisruptionBudget"} == {"chat-ingress", "chat-head"}


def test_the_objects_alone_are_judged_as_in_the_plan() -> None:
    for path in sorted((ROOT / "examples" / "ray").glob("*.yaml")):
        made = previewed(load(yaml.safe_load(path.read_text())), "dev", today=TODAY)
        found = recognise([Document(draft.manifest, "", at) for at, draft in enumerate(made.objects.drafts)]).workloads
        assert {each.engine.model.value for each in found} == {each.model_id for each in made.plan.servers}
        assert all(each.pool.known and each.engine.version.value == "0.29.0" for each in found)
        assert not made.plan.refused


WRONG: dict[str, dict[str, Any]] = {
    "servers[0].image.track: deployment has no Ray in it": {"servers[0].image.track": "deployment"},
    "carries no Ray, which left vLLM's images in 0.18": {"servers[0].image.reference": "vllm/vllm-openai:v0.33.0"},
    "servers[0].ray_service: 'x' is not a RayService of this stack": {"servers[0].ray_service": "x"},
    "servers[0].pool: pool h100 gives out its cards by time-slicing": {"pools[0].share": {"kind": "time-slicing", "replicas": 2}},
    "servers[0].engine.distributed_executor_backend: 'mp' is refused": {"servers[0].engine.distributed_executor_backend": "mp"},
    "servers[0].rollout.strategy": {"servers[0].rollout": {"strategy": "surge"}},
    "servers[0].access.keys": {"access": {"tenants": [{"name": "a"}]}},
    "ray_services[0].redis.address: 'redis' is not host:port": {"ray_services": [{"name": "chat", "redis": {"address": "redis"}}]},
    "no server is in it": {"ray_services": [{"name": "other"}]},
    "begins with a digit": {"ray_services": [{"name": "1chat"}], "servers[0].ray_service": "1chat"},
}


@pytest.mark.parametrize(("text", "changes"), WRONG.items(), ids=lambda each: str(each)[:40])
def test_what_ray_cannot_do_is_refused_by_its_field(text: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        config(RAY | changes)
    assert text in str(caught.value)


def test_two_models_of_one_service_have_two_names() -> None:
    data = config_data(RAY)
    data["ray_services"] = [{"name": "both"}]
    data["servers"] = [{**data["servers"][0], "name": name, "ray_service": "both"} for name in ("a", "b")]
    with pytest.raises(ConfigError, match="clients choose by that name"):
        load(data)
    data["servers"][1]["served_name"] = "b"
    assert len(previewed(load(data), "dev", today=TODAY).plan.ray_services[0].servers) == 2


def test_a_tensor_over_more_gpus_than_a_node_has_is_refused() -> None:
    plan, _ = objects({**TWO_NODES, "servers[0].engine": {"tensor_parallel_size": 16, "max_model_len": 8192}})
    assert "GPU-017" in {each.code for each in plan.refused}
