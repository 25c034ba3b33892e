"""Objects around a workload become facts of the bundle."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.cli.reading import load_text
from interlock.infra.facts import Bundle
from interlock.infra.recognise import UNKNOWN, Document, recognise

MANIFESTS = Path(__file__).parents[1] / "data" / "manifests"


def bundle(name: str) -> Bundle:
    documents = yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text())
    return recognise([Document(data, name, index) for index, data in enumerate(documents)], parse=load_text)


def read(*documents: dict[str, Any]) -> Bundle:
    return recognise([Document(data) for data in documents], parse=load_text)


def test_a_gpu_node_pool_is_a_pool_and_a_general_one_is_not() -> None:
    (pool,) = bundle("around").pools
    assert (pool.name, pool.families, pool.taints) == ("gpu", ("g5", "g6"), ("nvidia.com/gpu",))
    assert pool.limits["nvidia.com/gpu"].value == "16"


def test_time_slicing_is_read_with_the_fields_that_the_plugin_ignores() -> None:
    (sharing,) = bundle("around").sharing
    assert (sharing.strategy, sharing.replicas.value, sharing.ignored) == ("time-slicing", 4, ("rename",))


def test_routes_carry_their_timeouts_and_controllers() -> None:
    routes = {route.kind: route for route in (*bundle("around").routes, *bundle("deployment").routes)}
    assert (routes["HTTPRoute"].read_timeout.value, routes["HTTPRoute"].controller.value) == (15, "envoy")
    assert (routes["VirtualService"].read_timeout.value, routes["VirtualService"].per_try_timeout.value) == (30, 10)
    assert (routes["Ingress"].read_timeout.value, routes["Ingress"].controller.value, routes["Ingress"].backend.value) == (
        600,
        "nginx",
        "chat",
    )
    assert routes["Ingress"].paths == ("/v1",)


@pytest.mark.parametrize(
    ("annotations", "ingress_class", "controller", "seconds"),
    [
        ({"nginx.ingress.kubernetes.io/proxy-read-timeout": "3600"}, None, "nginx", 3600),
        ({"alb.ingress.kubernetes.io/load-balancer-attributes": "a=b,idle_timeout.timeout_seconds=900"}, "alb", "alb", 900),
        ({"haproxy.org/timeout-server": "10m"}, "haproxy", "haproxy", 600),
        ({"konghq.com/read-timeout": "60000"}, "kong", "kong", 60),
        ({"nginx.ingress.kubernetes.io/proxy-read-timeout": "3600"}, "traefik", "traefik", None),
        ({}, "my-nginx-internal", "nginx", None),
    ],
)
def test_ingress_timeouts_are_read_only_for_the_controller_that_reads_them(
    annotations: dict[str, str], ingress_class: str | None, controller: str, seconds: float | None
) -> None:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    spec = {"ingressClassName": ingress_class, "rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}]}
    (route,) = read({"kind": "Ingress", "metadata": {"name": "i", "annotations": annotations}, "spec": spec}).routes
    assert (route.controller.value, route.read_timeout.value) == (controller, seconds)


def test_a_policy_timeout_reaches_the_route_it_targets() -> None:
    route = {"kind": "HTTPRoute", "metadata": {"name": "r"}, "spec": {"rules": [{"backendRefs": [{"name": "s", "port": 80}]}]}}
    target = [{"kind": "HTTPRoute", "name": "r"}]
    policy = {"kind": "BackendTrafficPolicy", "spec": {"targetRefs": target, "timeout": {"http": {"requestTimeout": "900s"}}}}
    assert read(route, policy).routes[0].read_timeout.value == 900


def test_autoscalers_of_every_version_say_what_they_scale_on() -> None:
    old = {
        "kind": "HorizontalPodAutoscaler",
        "spec": {"targetCPUUtilizationPercentage": 80, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
    }
    assert [(source, name.value) for source, name, _ in read(old).autoscalers[0].metrics] == [("Resource", "cpu")]
    (keda,) = bundle("around").autoscalers
    assert (keda.target_kind.value, keda.target.value, keda.min_replicas.value) == ("Deployment", "chat", 0)
    assert [(source, name.value) for source, name, _ in keda.metrics] == [("prometheus", "sum(vllm:num_requests_waiting)")]


def test_secret_data_is_decoded_and_templates_in_it_are_unknown() -> None:
    secret = next(item for item in bundle("around").secrets if item.origin.kind == "Secret")
    assert secret.data["engine"].value == "sk-1234567890123456"
    assert secret.data["hub"].unknown


def test_queries_and_scrapes_are_found_where_they_stand() -> None:
    found = bundle("around")
    assert [(query.use, query.text.value) for query in found.queries] == [("alert", "vllm:num_requests_waiting > 10")]
    assert found.scrapes[0].selector == (("app", "vllm"),)
    pod = next(scrape for scrape in bundle("deployment").scrapes if scrape.kind == "pod")
    assert pod.port.value == "8000"


def test_dashboards_inside_config_maps_are_queries() -> None:
    board = '{"panels": [{"targets": [{"expr": "vllm:gpu_cache_usage_perc"}], "panels": [{"targets": [{"expr": "ray_tasks"}]}]}]}'
    found = read({"kind": "ConfigMap", "metadata": {"name": "d"}, "data": {"vllm.json": board}}).queries
    assert [(query.use, query.text.value) for query in found] == [("dashboard", "vllm:gpu_cache_usage_perc"), ("dashboard", "ray_tasks")]


def test_a_value_not_known_at_preview_is_unknown_and_an_absent_one_absent() -> None:
    (service,) = read({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}, "spec": {"type": UNKNOWN}}).services
    assert service.type.unknown
    (claim,) = read({"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": {"storageClassName": "x"}}).claims
    assert claim.access_modes.absent
    assert claim.access_modes.path == "spec.accessModes"


@pytest.mark.parametrize("value", ["04da6b54-80e4-46f7-96ec-b56ff0331ba9", "[secret]", {"4dabf18193072939515e22adb298388d": "x"}])
def test_pulumis_own_marks_of_unknown_and_secret_values_are_unknown(value: Any) -> None:
    (service,) = read({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}, "spec": {"type": value}}).services
    assert service.type.unknown
