from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tests.support import TODAY


def config(**route: Any) -> Any:
    server = {
        "name": "chat",
        "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
        "pool": "h100",
        "engine": {"max_model_len": 8192},
        "route": {"host": "chat.example.com", **route},
    }
    pool = {"name": "h100", "gpu": "h100-80gb-sxm", "nodes": 1, "gpus_per_node": 8}
    return load({"target": {"local": "dev"}, "namespace": "team-a", "pools": [pool], "servers": [server]})


def objects(**route: Any) -> dict[str, dict[str, Any]]:
    given = config(**route)
    return {each["kind"]: each for each in render(given, plan(given, "dev"))}


def test_a_load_balancer_is_the_service_itself_and_no_route() -> None:
    made = objects(kind="load-balancer")
    assert made["Service"]["spec"]["type"] == "LoadBalancer"
    assert not {"HTTPRoute", "Ingress"} & set(made)


@pytest.mark.parametrize("kind", ["httproute", "ingress"])
def test_behind_a_route_the_service_stays_inside(kind: str) -> None:
    assert objects(kind=kind)["Service"]["spec"]["type"] == "ClusterIP"


@pytest.mark.parametrize("field", [{"tls_secret": "tls"}, {"paths": ["/v1/chat"]}])
def test_what_a_load_balancer_cannot_do_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="knows no paths and ends no TLS"):
        config(kind="load-balancer", **field)


@pytest.mark.parametrize("kind", ["httproute", "ingress"])
def test_a_gateway_timeout_of_15_seconds_is_refused_before_a_long_answer(kind: str) -> None:
    given = config(kind=kind, timeout_seconds=15)
    refused = preview(given, "dev", today=TODAY).refused
    assert "servers[0].route.timeout_seconds" in [each.path for each in refused]


def two_servers(first: dict[str, Any], second: dict[str, Any]) -> Any:
    server = {"model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "p", "gpus": 1}
    servers = [{"name": name, **server, "route": {"host": "a.example.com", **own}} for name, own in (("a", first), ("b", second))]
    pool = {"name": "p", "gpu": "h100", "nodes": 1, "gpus_per_node": 8}
    return load({"target": {"local": "dev"}, "namespace": "n", "pools": [pool], "servers": servers})


@pytest.mark.parametrize("route", [{}, {"kind": "ingress"}, {"kind": "load-balancer"}, {"paths": ["/v2", "/v1"]}])
def test_two_servers_on_one_host_and_path_are_refused(route: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"servers\[1\]\.route\.host: a.example.com/v1 leads to server a already"):
        two_servers({"kind": route.get("kind", "httproute")}, route)


@pytest.mark.parametrize("route", [{"host": "b.example.com"}, {"paths": ["/v2"]}, {"gateway": "internal"}, {"kind": "ingress"}])
def test_two_servers_with_hosts_paths_or_gateways_of_their_own_are_let_be(route: dict[str, Any]) -> None:
    assert len(two_servers({}, route).servers) == 2


@pytest.mark.parametrize(
    ("ingress_class", "written"),
    [
        ("nginx", {"nginx.ingress.kubernetes.io/proxy-read-timeout": "900", "nginx.ingress.kubernetes.io/proxy-buffering": "off"}),
        (
            "nginx-internal",
            {"nginx.ingress.kubernetes.io/proxy-next-upstream": "off", "nginx.ingress.kubernetes.io/proxy-body-size": "64m"},
        ),
        ("haproxy", {"haproxy.org/timeout-server": "900s"}),
        ("alb", {"alb.ingress.kubernetes.io/load-balancer-attributes": "idle_timeout.timeout_seconds=900"}),
        ("contour", {"projectcontour.io/response-timeout": "900s"}),
        ("azure-application-gateway", {"appgw.ingress.kubernetes.io/request-timeout": "900"}),
        ("openshift-default", {"haproxy.router.openshift.io/timeout": "900s"}),
        ("traefik", {}),
    ],
)
def test_each_controller_is_told_in_its_own_words_and_the_rules_read_them(ingress_class: str, written: dict[str, str]) -> None:
    given = {"kind": "ingress", "ingress_class": ingress_class, "timeout_seconds": 900}
    assert written.items() <= objects(**given)["Ingress"]["metadata"]["annotations"].items()
    assert not [each for each in preview(config(**given), "dev", today=TODAY).findings if each.code in ("NET-006", "NET-007", "NET-008")]


def test_a_controller_whose_timeout_no_annotation_states_is_refused() -> None:
    found = preview(config(kind="ingress", ingress_class="gce"), "dev", today=TODAY).refused
    assert "NET-006" in [each.code for each in found]


def test_several_models_share_a_host_by_a_prefix_that_is_cut_off() -> None:
    (rule,) = objects(prefix="/chat")["HTTPRoute"]["spec"]["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/chat/v1"}}]
    assert rule["filters"][0]["urlRewrite"]["path"] == {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/v1"}
    nginx = objects(kind="ingress", prefix="/chat")["Ingress"]
    (path,) = nginx["spec"]["rules"][0]["http"]["paths"]
    assert (path["path"], path["pathType"]) == ("/chat(/v1(?:/.*)?)$", "ImplementationSpecific")
    assert nginx["metadata"]["annotations"]["nginx.ingress.kubernetes.io/rewrite-target"] == "$1"
    assert len(two_servers({"prefix": "/a"}, {"prefix": "/b"}).servers) == 2
    with pytest.raises(ConfigError, match=r"a.example.com/a/v1 leads to server a already"):
        two_servers({"prefix": "/a"}, {"prefix": "/a"})


def test_annotations_of_a_person_stand_beside_the_plan_s_and_before_them() -> None:
    own = {"nginx.ingress.kubernetes.io/proxy-read-timeout": "1200", "example.com/owner": "ml"}
    assert own.items() <= objects(kind="ingress", annotations=own)["Ingress"]["metadata"]["annotations"].items()


@pytest.mark.parametrize(
    ("route", "said"),
    [
        ({"kind": "ingress", "ingress_class": "traefik", "prefix": "/a"}, "traefik .class traefik. has no annotation that cuts it off"),
        ({"kind": "ingress", "ingress_class": "alb", "timeout_seconds": 7200}, "more than the 4000 s that alb takes"),
        ({"kind": "load-balancer", "prefix": "/a"}, "passes connections through"),
        ({"prefix": "/a/"}, "ends with /"),
    ],
)
def test_what_a_controller_cannot_do_is_refused_where_it_was_written(route: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config(**route)
