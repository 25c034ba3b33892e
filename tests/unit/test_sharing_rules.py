"""Rules of shared cards, MIG layouts and node folders, each with the case it refuses and the near one it lets through."""

from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Severity
from interlock.infra.rules.judge import judge
from tests.support import TODAY

SLICED = {"name": "sliced", "gpu": "l4", "nodes": 2, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 2}}
CUT = {"name": "cut", "gpu": "a100", "nodes": 1, "gpus_per_node": 8, "share": {"kind": "mig", "profile": "1g.10gb"}}
SMALL = "Qwen/Qwen2.5-0.5B-Instruct"


def planned(pool: dict[str, Any], *servers: dict[str, Any], **more: Any) -> ClusterPlan:
    listed = [{"name": f"s{index}", "model": {"id": SMALL}, "pool": pool["name"]} | server for index, server in enumerate(servers)]
    read = load({"target": {"local": "dev"}, "namespace": "ml", "pools": [pool], "servers": listed, **more})
    return preview(read, "dev", today=TODAY)


def found(made: ClusterPlan, code: str) -> list[Finding]:
    return [finding for finding in made.findings if finding.code == code]


def ours(made: ClusterPlan) -> set[str]:
    return {finding.code for finding in made.findings if finding.code[:5] in ("GPU-1", "STO-1")}


def test_a_planned_shared_server_takes_its_part_and_a_fixed_pool_and_has_no_finding() -> None:
    made = planned(SLICED, {"replicas": 2}, {"replicas": 2})
    assert ours(made) == set()
    for server in made.servers:
        engine = server.args.engine
        assert engine.gpu_memory_utilization == 0.48
        assert (engine.kv_cache_memory_bytes or 0) > 2**30
        assert "--kv-cache-memory-bytes" in server.args.to_argv()


def test_a_server_on_whole_cards_or_mig_keeps_vllms_own_memory_rule() -> None:
    for pool in (CUT, {"name": "whole", "gpu": "h100", "nodes": 1, "gpus_per_node": 8}):
        engine = planned(pool, {"engine": {"max_model_len": 4096}}).servers[0].args.engine
        assert engine.gpu_memory_utilization is None
        assert engine.kv_cache_memory_bytes is None


def test_engines_that_may_meet_on_one_card_and_want_more_than_it_holds_are_refused_with_the_sum() -> None:
    made = planned(SLICED, {"engine": {"gpu_memory_utilization": 0.6}}, {"engine": {"gpu_memory_utilization": 0.5}})
    (finding,) = found(made, "GPU-101")
    assert finding.severity is Severity.ERROR
    assert "0.6 (s0) + 0.5 (s1) = 1.1 " in finding.summary
    assert "0.97" in finding.summary
    assert "0.48" in finding.remedy


def test_more_than_an_even_part_is_told_at_the_field_that_asks_for_it_and_the_plan_adds_no_surge_pod_to_it() -> None:
    made = planned(SLICED, {}, {"engine": {"gpu_memory_utilization": 0.9}})
    (finding,) = found(made, "GPU-101")
    assert (finding.path, finding.value) == ("servers[1].engine.gpu_memory_utilization", "0.9")
    alone = planned(SLICED, {"engine": {"gpu_memory_utilization": 0.9}})
    assert [each.code for each in alone.findings] == []
    assert alone.servers[0].recreate
    assert "0.9 of a card that is shared by 2" in alone.servers[0].why["rollout"].reason
    asked = planned(SLICED, {"engine": {"gpu_memory_utilization": 0.9}, "rollout": {"strategy": "surge"}})
    assert [each.path for each in found(asked, "ROLL-003")] == ["servers[0].rollout.strategy"]


def test_the_largest_that_fit_on_one_card_count_however_many_there_are() -> None:
    fitting = [{"engine": {"gpu_memory_utilization": 0.4}} for _ in range(3)]
    assert found(planned({**SLICED, "nodes": 4}, *fitting), "GPU-101") == []
    (finding,) = found(planned({**SLICED, "nodes": 4}, *fitting, {"replicas": 2, "engine": {"gpu_memory_utilization": 0.5}}), "GPU-101")
    assert "0.5 (s3) + 0.5 (s3)" in finding.summary


def test_replicas_that_autoscaling_adds_meet_as_well() -> None:
    server = {"engine": {"gpu_memory_utilization": 0.6}, "autoscale": {"min_replicas": 1, "max_replicas": 2}}
    assert found(planned(SLICED, server), "GPU-101")


def test_a_shared_server_whose_model_is_unknown_must_state_its_pool() -> None:
    (finding,) = found(planned(SLICED, {"model": {"id": "acme/unknown", "unsized": "a test"}}), "GPU-102")
    assert finding.severity is Severity.ERROR
    stated = {"model": {"id": "acme/unknown", "unsized": "a test"}, "engine": {"kv_cache_memory_bytes": 2**31}}
    assert found(planned(SLICED, stated), "GPU-102") == []


@pytest.mark.parametrize("kind", ["time-slicing", "mps"])
def test_two_shares_of_a_card_are_refused(kind: str) -> None:
    pool = {**SLICED, "gpus_per_node": 2, "share": {"kind": kind, "replicas": 2}}
    (finding,) = found(planned(pool, {"gpus": 2, "engine": {"tensor_parallel_size": 1}}), "GPU-103")
    assert finding.path == "servers[0].gpus"
    assert found(planned(pool, {}), "GPU-103") == []


@pytest.mark.parametrize(
    ("gpu", "profile", "per_card", "says"),
    [
        ("a100", "1g.10gb", 7, None),
        ("a100", "1g.10gb", None, None),
        ("a100", "1g.5gb", None, "not a profile of this card"),
        ("a100", "3g.40gb", 3, "at most 2"),
        ("a100", "1g.20gb", 4, None),
        ("h200", "1g.18gb", 7, None),
        ("l4", "1g.10gb", None, "cannot be cut"),
    ],
)
def test_a_mig_layout_must_be_one_of_the_cards(gpu: str, profile: str, per_card: int | None, says: str | None) -> None:
    share = {"kind": "mig", "profile": profile} | ({"per_card": per_card} if per_card else {})
    findings = found(planned({**CUT, "gpu": gpu, "share": share}), "GPU-104")
    assert [says in finding.summary for finding in findings] == ([] if says is None else [True])  # type: ignore[operator]
    assert all(finding.path == "pools[0].share" for finding in findings)


def test_tensor_parallel_on_mig_instances_is_refused() -> None:
    (finding,) = found(planned(CUT, {"engine": {"tensor_parallel_size": 2}}), "GPU-105")
    assert finding.path == "servers[0].engine.tensor_parallel_size"
    assert found(planned(CUT, {}), "GPU-105") == []


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", []),
        ("Qwen/Qwen3-8B", [("GPU-108", Severity.WARNING)]),
        ("meta-llama/Llama-2-13b-hf", [("GPU-108", Severity.WARNING)]),
        ("Qwen/Qwen2.5-14B", [("GPU-106", Severity.ERROR)]),
    ],
)
def test_models_above_7b_are_warned_of_and_above_13b_refused_on_a_share(model: str, said: list[tuple[str, Severity]]) -> None:
    pool = {**SLICED, "gpu": "h100", "gpus_per_node": 8}
    made = planned(pool, {"model": {"id": model}})
    assert [(finding.code, finding.severity) for code in ("GPU-106", "GPU-108") for finding in found(made, code)] == said


def test_large_models_on_mig_or_whole_cards_are_fine() -> None:
    whole = {"name": "whole", "gpu": "h100", "nodes": 1, "gpus_per_node": 8}
    assert found(planned(whole, {"model": {"id": "Qwen/Qwen2.5-14B"}}), "GPU-106") == []


def test_more_than_four_shares_are_warned_of() -> None:
    for replicas, count in ((4, 0), (5, 1)):
        pool = {**SLICED, "share": {"kind": "time-slicing", "replicas": replicas}}
        assert len(found(planned(pool), "GPU-107")) == count


def pods(*, level: str | None, volume: dict[str, Any]) -> list[Document]:
    server = {"name": "chat", "model": {"id": SMALL}, "pool": "sliced"}
    config = load({"target": {"local": "dev"}, "namespace": "ml", "pools": [SLICED], "servers": [server]})
    objects = render(config, plan(config, "dev"))
    for each in objects:
        if each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["volumes"].append(volume)
        if each["kind"] == "Namespace":
            labels = each["metadata"]["labels"]
            labels.pop("pod-security.kubernetes.io/enforce")
            if level:
                labels["pod-security.kubernetes.io/enforce"] = level
    return [Document(each, "test.yaml", index) for index, each in enumerate(objects)]


@pytest.mark.parametrize(("level", "refused"), [("baseline", True), ("restricted", True), ("privileged", False), (None, False)])
def test_a_node_folder_in_a_namespace_that_forbids_it_is_refused(level: str | None, refused: bool) -> None:
    documents = pods(level=level, volume={"name": "x", "hostPath": {"path": "/data"}})
    codes = [finding.code for finding in judge(recognise(documents), today=TODAY)]
    assert ("STO-101" in codes) is refused


def test_a_claim_is_allowed_at_every_level() -> None:
    documents = pods(level="restricted", volume={"name": "x", "persistentVolumeClaim": {"claimName": "c"}})
    assert "STO-101" not in [finding.code for finding in judge(recognise(documents), today=TODAY)]


def local(binding: str | None) -> list[Document]:
    named = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "disk"},
        "provisioner": "kubernetes.io/no-provisioner",
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"storageClassName": "disk", "local": {"path": "/mnt"}},
    }
    return [Document(named | ({"volumeBindingMode": binding} if binding else {}), "t.yaml", 0), Document(volume, "t.yaml", 1)]


@pytest.mark.parametrize(("binding", "refused"), [("Immediate", True), (None, True), ("WaitForFirstConsumer", False)])
def test_local_volumes_that_bind_before_the_pod_is_scheduled_are_refused(binding: str | None, refused: bool) -> None:
    codes = [finding.code for finding in judge(recognise(local(binding)), today=TODAY)]
    assert ("STO-102" in codes) is refused


@pytest.mark.parametrize(
    ("store", "nodes", "refused"),
    [
        ({"kind": "host-path", "path": "/data"}, 2, True),
        ({"kind": "host-path", "path": "/data", "nodes": ["n1"]}, 2, False),
        ({"kind": "host-path", "path": "/data"}, 1, False),
        ({"kind": "claim", "filled": "a test"}, 2, False),
    ],
)
def test_a_node_folder_that_some_nodes_of_the_pool_may_lack_is_refused(store: dict[str, Any], nodes: int, refused: bool) -> None:
    made = planned({**SLICED, "nodes": nodes}, {"weights": "models"}, stores=[{"name": "models", **store}])
    assert bool(found(made, "STO-103")) is refused


def test_a_claim_for_one_node_with_replicas_on_several_is_refused() -> None:
    stores = [{"name": "models", "kind": "claim", "access": "ReadWriteOnce", "filled": "a test"}]
    assert found(planned(SLICED, {"weights": "models", "replicas": 2}, stores=stores), "STO-001")
    many = [{"name": "models", "kind": "claim", "access": "ReadWriteMany", "filled": "a test"}]
    assert found(planned(SLICED, {"weights": "models", "replicas": 2}, stores=many), "STO-001") == []
