"""GPUs by resource claims (dynamic resource allocation): counted like those of a device plugin, in foreign YAML and in our own plan."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from interlock.infra.config.load import load
from interlock.infra.facts import Pool, Workload, known
from interlock.infra.facts.room import Pods
from interlock.infra.preview import preview
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.judge import judge
from interlock.infra.rules.reading.planner import slice_of
from interlock.infra.rules.reading.room import pods_of
from interlock.infra.rules.reading.units import replica_units
from tests.support import TODAY

TEMPLATE = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: t}, spec: {spec: {devices: {requests: [%s]}}}}"
SHARED = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: t}, spec: {devices: {requests: [%s]}}}"
TWO = "{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}"


def documents(claim: str, tp: int = 2, replicas: int = 1, source: str = "resourceClaimTemplateName", more: str = "") -> list[Document]:
    engine: dict[str, Any] = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.33.0",
        "args": ["--model=Qwen/Qwen3-14B", f"--tensor-parallel-size={tp}"],
        "resources": {"claims": [{"name": "gpus"}]},
    }
    helper = {"name": "helper", "image": "busybox", "resources": {"claims": [{"name": "gpus"}]}}
    spec = {"resourceClaims": [{"name": "gpus", source: "t"}], "containers": [engine, helper] if more else [engine]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    body = {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": body}
    return [Document(yaml.safe_load(claim)), Document(deployment)]


def workload(*arguments: Any, **more: Any) -> Workload:
    (found,) = recognise(documents(*arguments, **more), closed=True).workloads
    return found


def codes(*arguments: Any, **more: Any) -> set[str]:
    return {each.code for each in judge(recognise(documents(*arguments, **more), closed=True), today=TODAY)}


def test_devices_of_a_claim_are_compared_with_the_parallel_sizes() -> None:
    (finding,) = [each for each in judge(recognise(documents(TEMPLATE % TWO, 4), closed=True), today=TODAY) if each.code == "GPU-001"]
    assert finding.path == "spec.template.spec.resourceClaims[0]"
    assert "TP 4 x PP 1 = 4 GPUs, but the replica asks for 2" in finding.summary
    assert "GPU-001" not in codes(TEMPLATE % TWO, 2)


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        (TWO, 2),
        ("{name: gpu, deviceClassName: gpu.nvidia.com}", 1),
        ("{name: gpu, firstAvailable: [{name: a, deviceClassName: gpu.nvidia.com, count: 2}]}", 2),
        ("{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}", None),
        ("{name: gpu, firstAvailable: [{deviceClassName: gpu.nvidia.com}, {deviceClassName: gpu.nvidia.com, count: 2}]}", None),
        ("{name: nic, exactly: {deviceClassName: net.example.com, count: 4}}", None),
    ],
)
def test_a_request_gives_what_it_certainly_gives(request_: str, count: int | None) -> None:
    assert replica_units(workload(TEMPLATE % request_)).value == count


def test_a_claim_that_is_not_in_the_set_decides_nothing() -> None:
    assert "GPU-001" not in codes((TEMPLATE % TWO).replace("name: t}", "name: other}"), 4)


def test_two_containers_on_one_claim_share_its_devices_and_one_claim_of_all_pods_fills_no_pool() -> None:
    assert pods_of(workload(TEMPLATE % TWO, replicas=3, more="helper")) == [Pods(2, "a", 3)]
    assert pods_of(workload(SHARED % TWO, replicas=3, source="resourceClaimName")) == []


def test_the_profile_of_a_slice_is_read_from_the_selector() -> None:
    chosen = (
        "{selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].profile == '3g.40gb'\"}}], deviceClassName: mig.nvidia.com}"
    )
    assert slice_of(workload(TEMPLATE % f"{{name: gpu, exactly: {chosen}}}", 1)) == "3g.40gb"
    assert "GPU-105" in codes(TEMPLATE % f"{{name: gpu, exactly: {chosen}}}", 2)


@pytest.mark.parametrize(("tp", "replicas", "refused"), [(2, 2, set()), (4, 1, {"GPU-001"}), (2, 3, {"GPU-004"})])
def test_our_own_plan_counts_what_it_claims(tp: int, replicas: int, refused: set[str]) -> None:
    pool = {"name": "p", "gpu": "h100", "nodes": 1, "gpus_per_node": 4, "allocation": "claim"}
    server = {"name": "s", "model": {"id": "Qwen/Qwen3-14B"}, "pool": "p", "gpus": 2, "replicas": replicas}
    config = load(
        {"target": {"local": "d"}, "namespace": "n", "pools": [pool], "servers": [{**server, "engine": {"tensor_parallel_size": tp}}]}
    )
    assert {each.code for each in preview(config, "dev", today=TODAY).refused} == refused


def test_a_pool_is_filled_by_claims() -> None:
    bundle = recognise(documents(TEMPLATE % TWO, replicas=3), closed=True)
    pool = Pool(bundle.workloads[0].origin, "p", gpu=known("H100"), gpus_per_node=known(4), nodes=known(1))
    placed = replace(bundle, pools=(pool,), workloads=tuple(replace(each, pool=known("p")) for each in bundle.workloads))
    assert "GPU-004" in {each.code for each in judge(placed, today=TODAY)}
