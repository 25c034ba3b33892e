"""Tenants, priorities and claims."""

from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.bundles import tenant as tenant_objects
from interlock.infra.manifests.priority import priority_objects
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tests.support import TODAY

POOLS = [
    {"name": "whole", "gpu": "h100", "nodes": 2, "gpus_per_node": 8},
    {"name": "sliced", "gpu": "l4", "nodes": 2, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 4}},
    {"name": "cut", "gpu": "a100", "nodes": 1, "gpus_per_node": 8, "share": {"kind": "mig", "profile": "1g.10gb"}},
]
CLASSES = [{"name": "training", "value": 1000, "preempts": False}, {"name": "serving", "value": 100000}]


def config(**more: Any) -> ClusterConfig:
    return load({"target": {"local": "dev"}, "namespace": "ml", "pools": POOLS, **more})


def tenant(**fields: Any) -> dict[str, dict[str, Any]]:
    made = config(tenants=[{"name": "search", **fields}])
    return {each["kind"]: each for each in tenant_objects(made, "plat", 0).manifests}


def test_gpu_units_are_limited_by_resource_and_pools_that_are_not_named_give_none() -> None:
    hard = tenant(gpus={"cut": 14, "sliced": 4})["ResourceQuota"]["spec"]["hard"]
    assert hard == {"requests.nvidia.com/gpu": "4", "requests.nvidia.com/mig-1g.10gb": "14"}
    assert tenant()["ResourceQuota"]["spec"]["hard"] == {"requests.nvidia.com/gpu": "0", "requests.nvidia.com/mig-1g.10gb": "0"}


def test_pools_of_one_resource_add_up() -> None:
    assert tenant(gpus={"whole": 8, "sliced": 4})["ResourceQuota"]["spec"]["hard"]["requests.nvidia.com/gpu"] == "12"


def test_cpu_memory_storage_and_pods_are_limited_where_they_are_stated() -> None:
    hard = tenant(cpu="64", memory="256Gi", storage="1Ti", pods=20)["ResourceQuota"]["spec"]["hard"]
    stated = {"requests.cpu": "64", "requests.memory": "256Gi", "limits.memory": "256Gi", "requests.storage": "1Ti", "pods": "20"}
    assert stated.items() <= hard.items()


def test_a_tenant_of_shared_pools_gets_one_share_per_container_and_none_by_default() -> None:
    (limits,) = tenant(gpus={"sliced": 4, "cut": 7})["LimitRange"]["spec"]["limits"]
    assert limits["max"] == {"nvidia.com/gpu": "1", "nvidia.com/mig-1g.10gb": "1"}
    # Kubernetes makes the maximum the default when there is none, and every container would ask for a GPU.
    assert limits["default"]["nvidia.com/gpu"] == "0"
    assert limits["defaultRequest"]["nvidia.com/mig-1g.10gb"] == "0"


def test_a_tenant_of_whole_cards_has_no_maximum_per_container() -> None:
    assert "max" not in tenant(gpus={"whole": 8, "sliced": 4})["LimitRange"]["spec"]["limits"][0]


def test_containers_that_state_nothing_get_a_small_request() -> None:
    (limits,) = tenant()["LimitRange"]["spec"]["limits"]
    assert limits == {
        "type": "Container",
        "default": {"memory": "1Gi"},
        "defaultRequest": {"cpu": "500m", "memory": "1Gi"},
    }


def test_a_tenants_namespace_is_restricted_and_the_stacks_own_is_not_made_twice() -> None:
    assert tenant()["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    made = config(tenants=[{"name": "ml", "gpus": {"whole": 8}}])
    kinds = [(each["kind"], each["metadata"]["name"]) for each in render(made, plan(made, "dev"))]
    assert kinds.count(("Namespace", "ml")) == 1
    assert ("ResourceQuota", "ml") in kinds


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"tenants": [{"name": "a", "gpus": {"none": 1}}]}, "is not a pool of this stack"),
        ({"tenants": [{"name": "a", "gpus": {"whole": -1}}]}, "it must be at least 0"),
        ({"scope": "serving", "tenants": [{"name": "a"}]}, "scope platform"),
        ({"tenants": [{"name": "a"}, {"name": "a"}]}, "names are unique"),
    ],
)
def test_a_tenant_that_contradicts_the_stack_is_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        config(**more)


def test_a_quota_below_what_the_servers_ask_for_is_refused_with_both_numbers() -> None:
    server = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "whole", "replicas": 3, "gpus": 4}
    made = preview(config(servers=[server], tenants=[{"name": "ml", "gpus": {"whole": 8}}]), "dev", today=TODAY)
    (finding,) = [each for each in made.findings if each.code == "SCALE-008"]
    assert "8" in finding.summary
    assert "12" in finding.summary


@pytest.mark.parametrize(("allowed", "replicas", "surge", "refused"), [(8, 2, 0, False), (12, 2, 1, False), (8, 3, 0, True)])
def test_devices_that_claims_take_count_against_the_quota_of_their_class(allowed: int, replicas: int, surge: int, refused: bool) -> None:
    pool = {"name": "dra", "gpu": "h100", "nodes": 2, "gpus_per_node": 8, "allocation": "claim"}
    server = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "dra", "replicas": replicas, "gpus": 4}
    stack = {"target": {"local": "dev"}, "namespace": "ml", "pools": [pool], "servers": [server]}
    made = preview(load({**stack, "tenants": [{"name": "ml", "gpus": {"dra": allowed}}]}), "dev", today=TODAY)
    assert made.servers[0].surge == surge
    found = [each for each in made.refused if each.code == "SCALE-008"]
    assert bool(found) == refused
    assert all("8 gpu.nvidia.com" in each.summary and "12" in each.summary for each in found)


def test_priority_classes_carry_the_stack_and_only_those_that_may_preempt_do() -> None:
    made = priority_objects(config(platform={"priority_classes": CLASSES}), "plat")
    assert [(each["metadata"]["name"], each["value"], each["preemptionPolicy"]) for each in made] == [
        ("plat-training", 1000, "Never"),
        ("plat-serving", 100000, "PreemptLowerPriority"),
    ]
    assert not any(each["globalDefault"] for each in made)


def test_a_server_gets_the_class_of_its_stack_and_any_other_name_as_it_stands() -> None:
    for stated, expected in (("serving", "dev-serving"), ("system-cluster-critical", "system-cluster-critical")):
        server = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "whole", "priority_class": stated}
        made = config(servers=[server], platform={"priority_classes": CLASSES})
        (deployment,) = [each for each in render(made, plan(made, "dev")) if each["kind"] == "Deployment"]
        assert deployment["spec"]["template"]["spec"]["priorityClassName"] == expected


def claimed(**share: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    pool = {"name": "dra", "gpu": "a100", "nodes": 1, "gpus_per_node": 8, "allocation": "claim"} | ({"share": share} if share else {})
    server = {
        "name": "chat",
        "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"},
        "pool": "dra",
        "gpus": 1 if share else 4,
        "engine": {"max_model_len": 4096},
    }
    made = load({"target": {"local": "dev"}, "namespace": "ml", "pools": [pool], "servers": [server]})
    objects = render(made, plan(made, "dev"))
    (template,) = [each for each in objects if each["kind"] == "ResourceClaimTemplate"]
    (deployment,) = [each for each in objects if each["kind"] == "Deployment"]
    return template, deployment["spec"]["template"]["spec"]


def test_a_pool_of_claims_gives_gpus_by_claim_and_not_by_resource() -> None:
    template, pod = claimed()
    assert template["apiVersion"] == "resource.k8s.io/v1"
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 4}
    assert pod["resourceClaims"] == [{"name": "gpus", "resourceClaimTemplateName": template["metadata"]["name"]}]
    resources = pod["containers"][0]["resources"]
    assert resources["claims"] == [{"name": "gpus"}]
    assert not any("nvidia.com" in name for place in ("requests", "limits") for name in resources[place])


def test_a_claim_on_a_mig_pool_selects_the_profile() -> None:
    template, _ = claimed(kind="mig", profile="1g.10gb")
    exactly = template["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly["deviceClassName"] == "mig.nvidia.com"
    assert exactly["selectors"] == [{"cel": {"expression": "device.attributes['gpu.nvidia.com'].profile == '1g.10gb'"}}]


def test_a_changed_claim_is_another_template() -> None:
    assert claimed()[0]["metadata"]["name"] != claimed(kind="mig", profile="1g.10gb")[0]["metadata"]["name"]


def test_a_quota_counts_the_devices_of_claims_by_their_class() -> None:
    pool = {"name": "dra", "gpu": "h100", "nodes": 1, "gpus_per_node": 8, "allocation": "claim"}
    base = {"target": {"local": "dev"}, "namespace": "ml", "pools": [pool], "tenants": [{"name": "search", "gpus": {"dra": 4}}]}
    made = load(base)
    quota = next(each for each in tenant_objects(made, "plat", 0).manifests if each["kind"] == "ResourceQuota")
    assert quota["spec"]["hard"] == {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "4"}


def staged(gpus: int, **server: Any) -> ClusterConfig:
    """Two replicas in a namespace whose quota gives ``gpus`` of a pool that has room for many more."""
    written = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "whole", "replicas": 2, **server}
    return config(tenants=[{"name": "ml", "gpus": {"whole": gpus}}], servers=[written])


def test_no_surge_pod_is_planned_where_the_quota_does_not_admit_one() -> None:
    tight, wide = plan(staged(2), "s").servers[0], plan(staged(3), "s").servers[0]
    assert (tight.surge, tight.unavailable) == (0, 1)
    assert "quota leaves 0 GPUs" in tight.why["rollout"].reason
    assert (wide.surge, wide.unavailable) == (1, 0)


def test_a_stated_surge_beyond_the_quota_is_refused_and_within_it_is_not() -> None:
    def refused(gpus: int, strategy: str) -> list[str]:
        made = preview(staged(gpus, rollout={"strategy": strategy}), "s", today=TODAY)
        return [each.summary for each in made.refused if each.code == "SCALE-008"]

    assert "starts 1 more before it stops any" in refused(2, "surge")[0]
    assert refused(2, "in-place") == []
    assert refused(3, "surge") == []


def test_a_deadline_covers_the_grace_in_which_an_ending_pod_holds_the_cards_that_the_next_one_needs() -> None:
    def deadline(gpus: int) -> int:
        times = plan(staged(gpus), "s").servers[0].times
        return times.progress_deadline - times.grace

    # Room for one more replica: the second new pod waits for the first old one. Room for two: none waits.
    assert deadline(3) - deadline(4) == plan(staged(3), "s").servers[0].times.grace
    assert "progress" in plan(staged(3), "s").servers[0].why
    assert "progress" not in plan(staged(4), "s").servers[0].why
