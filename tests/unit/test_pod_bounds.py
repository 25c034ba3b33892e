"""What a pod takes beside GPUs and memory, where its replicas go, and what keeps a node drainable."""

from typing import Any

import pytest

from interlock.infra.errors import ConfigError
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tests.support.build import TODAY, config

BIG = {"name": "big", "model": {"id": "Qwen/Qwen2.5-72B-Instruct"}, "pool": "h100", "gpus": 8, "engine": {"tensor_parallel_size": 8}}


def made(changes: dict[str, Any] | None = None, kind: str = "Deployment", name: str = "chat") -> dict[str, Any]:
    stated = config(changes)
    objects = render(stated, plan(stated, "prod"))
    return next(each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name))


def pod(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = made(changes)["spec"]["template"]["spec"]
    return spec


def volumes(spec: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each for each in spec["volumes"]}


def test_a_pod_that_downloads_its_weights_has_room_for_them_and_no_more() -> None:
    spec = pod()
    # 14.2 GiB of weights, x 1.05 in whole GiB, beside 10 GiB of compiled kernels.
    assert volumes(spec)["cache"]["emptyDir"] == {"sizeLimit": "25Gi"}
    assert volumes(spec)["tmp"]["emptyDir"] == {"sizeLimit": "4Gi"}
    asked = spec["containers"][0]["resources"]
    assert (asked["requests"]["ephemeral-storage"], asked["limits"]["ephemeral-storage"]) == ("17Gi", "31Gi")


def test_weights_in_a_store_take_nothing_of_the_nodes_own_disk() -> None:
    stored = {"stores": [{"name": "weights", "kind": "existing-claim", "claim": "w"}], "servers[0].weights": "weights"}
    assert pod(stored)["containers"][0]["resources"]["requests"]["ephemeral-storage"] == "2Gi"


def test_a_download_of_unknown_size_is_not_bounded() -> None:
    spec = pod({"servers[0].model": {"id": "acme/ours", "unsized": "a test"}})
    assert volumes(spec)["cache"]["emptyDir"] == {}
    assert "ephemeral-storage" not in spec["containers"][0]["resources"]["limits"]


def test_replicas_prefer_other_zones_and_nodes_and_never_insist() -> None:
    rows = pod({"servers[0].replicas": 2})["topologySpreadConstraints"]
    assert [(each["topologyKey"], each["whenUnsatisfiable"]) for each in rows] == [
        ("topology.kubernetes.io/zone", "ScheduleAnyway"),
        ("kubernetes.io/hostname", "ScheduleAnyway"),
    ]
    assert pod()["topologySpreadConstraints"] == rows  # or a second replica would replace the first


@pytest.mark.parametrize(("replicas", "spread"), [(2, True), (8, False)])
def test_small_pods_are_not_spread_where_a_large_one_would_find_no_whole_node(replicas: int, spread: bool) -> None:
    # Two nodes of 8: an 8-GPU pod beside two of one GPU needs them on one node.
    changes = {"pools[0].nodes": 3 if spread else 2, "servers[0].replicas": replicas, "servers[1]": BIG}
    assert ("topologySpreadConstraints" in pod(changes)) is spread


def test_a_replica_that_crashes_at_every_start_blocks_no_drain() -> None:
    assert made({"servers[0].replicas": 2}, "PodDisruptionBudget")["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_a_pod_under_mps_takes_the_shared_memory_that_the_device_plugin_mounts() -> None:
    shared = {"pools[0].share": {"kind": "mps", "replicas": 2}, "servers[0].model.id": "Qwen/Qwen2.5-0.5B-Instruct"}
    spec = pod(shared)
    assert "shm" not in volumes(spec)
    assert all(each["mountPath"] != "/dev/shm" for each in spec["containers"][0]["volumeMounts"])
    assert volumes(pod())["shm"]["emptyDir"]["medium"] == "Memory"


ROUTE = {"host": "a.example", "tls_secret": "models-tls"}


def test_a_route_with_tls_attaches_to_that_listener_only() -> None:
    spec = made({"servers[0].route": ROUTE}, "HTTPRoute")["spec"]
    assert spec["parentRefs"] == [{"name": "inference", "sectionName": "https"}]
    plain = made({"servers[0].route": {"host": "a.example", "listener": "internal"}}, "HTTPRoute")["spec"]
    assert plain["parentRefs"] == [{"name": "inference", "sectionName": "internal"}]


def test_a_listener_of_an_ingress_is_refused() -> None:
    with pytest.raises(ConfigError, match="listener is a part of a Gateway, and kind ingress attaches to none"):
        config({"servers[0].route": {"host": "a.example", "kind": "ingress", "listener": "https"}})


def test_an_ingress_lets_through_what_the_engine_takes() -> None:
    annotations = made({"servers[0].route": {"host": "a.example", "kind": "ingress"}}, "Ingress")["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/proxy-body-size"] == "64m"


def test_a_route_to_an_engine_without_keys_needs_a_reason() -> None:
    def codes(access: dict[str, Any]) -> set[str]:
        return {
            each.code
            for each in preview(
                config({"servers[0].route": {"host": "a.example"}, "servers[0].access": access}), "prod", today=TODAY
            ).refused
        }

    assert codes({}) == codes({"keys": False}) == {"SEC-012"}
    assert codes({"open": "the gateway asks for keys"}) == set()
    with pytest.raises(ConfigError, match="remove one of them"):
        config({"servers[0].access": {"open": "because", "keys": True}})


@pytest.mark.parametrize(
    ("ingress_class", "annotation", "text"),
    [
        ("nginx-internal", "nginx.ingress.kubernetes.io/proxy-read-timeout", "900"),
        ("alb", "alb.ingress.kubernetes.io/load-balancer-attributes", "idle_timeout.timeout_seconds=900"),
        ("haproxy", "haproxy.org/timeout-server", "900s"),
        ("kong", "konghq.com/read-timeout", "900000"),
        ("contour", "projectcontour.io/response-timeout", "900s"),
        ("azure-application-gateway", "appgw.ingress.kubernetes.io/request-timeout", "900"),
        ("openshift-default", "haproxy.router.openshift.io/timeout", "900s"),
    ],
)
def test_every_controller_is_told_the_timeout_in_its_own_words_and_the_rules_read_it(
    ingress_class: str, annotation: str, text: str
) -> None:
    route = {"host": "a.example", "kind": "ingress", "ingress_class": ingress_class, "timeout_seconds": 900}
    changes = {"servers[0].route": route, "servers[0].access": {"open": "a test"}, "servers[0].longest_answer_seconds": 900}
    assert made(changes, "Ingress")["metadata"]["annotations"][annotation] == text
    assert [each for each in preview(config(changes), "prod", today=TODAY).findings if each.code == "NET-006"] == []


def test_a_persons_annotations_reach_the_route_and_win() -> None:
    own = {"nginx.ingress.kubernetes.io/proxy-body-size": "1g", "cert-manager.io/cluster-issuer": "letsencrypt"}
    annotations = made({"servers[0].route": {"host": "a.example", "kind": "ingress", "annotations": own}}, "Ingress")["metadata"][
        "annotations"
    ]
    assert annotations.items() >= own.items()
    balanced = {
        "host": "a.example",
        "kind": "load-balancer",
        "annotations": {"service.beta.kubernetes.io/aws-load-balancer-scheme": "internal"},
    }
    assert made({"servers[0].route": balanced}, "Service")["metadata"]["annotations"] == balanced["annotations"]
