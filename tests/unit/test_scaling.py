"""Who scrapes a server, by what it is scaled, and that every series that is asked for exists."""

import json
import re
from typing import Any

import pytest

from interlock.infra.catalog.engine_metrics import Signal, series
from interlock.infra.catalog.vllm_flags import metric_status
from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from interlock.infra.rules.reading.series import engine_series
from tests.support import TODAY

POOL = {"name": "h100", "gpu": "h100-80gb-sxm", "nodes": 2, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"}


def config(autoscale: dict[str, Any] | None = None, monitoring: dict[str, Any] | None = None, **own: Any) -> Any:
    server = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "h100", "engine": {"max_num_seqs": 128}, **own}
    data = {"target": {"local": "dev"}, "namespace": "team-a", "pools": [POOL], "monitoring": monitoring or {}}
    return load({**data, "servers": [{**server, **({"autoscale": autoscale} if autoscale else {})}]})


def objects(*given: Any, **own: Any) -> dict[str, dict[str, Any]]:
    made = config(*given, **own)
    return {each["kind"]: each for each in render(made, plan(made, "dev")) if "runtime" not in each["metadata"]["name"]}


def triggers(scale: dict[str, Any], **own: Any) -> dict[str, dict[str, Any]]:
    made = objects(scale, **own)["ScaledObject"]
    return {each["name"]: each for each in made["spec"]["triggers"]}


def test_a_monitor_names_the_port_of_the_pods_it_selects_and_copies_the_label_that_queries_ask_for() -> None:
    made = objects({"max_replicas": 4})
    (endpoint,), chosen = made["PodMonitor"]["spec"]["podMetricsEndpoints"], made["PodMonitor"]["spec"]["selector"]["matchLabels"]
    pod = made["Deployment"]["spec"]["template"]
    assert endpoint["port"] in [each["name"] for each in pod["spec"]["containers"][0]["ports"]]
    assert chosen.items() <= pod["metadata"]["labels"].items()
    copied = {re.sub(r"[^A-Za-z0-9_]", "_", each) for each in made["PodMonitor"]["spec"]["podTargetLabels"]}
    asked = set(re.findall(r'(\w+)="', triggers({"max_replicas": 4})["waiting"]["metadata"]["query"]))
    assert asked - {"namespace"} <= copied


def test_without_a_scrape_of_ours_a_server_is_found_by_the_label_that_its_engine_writes() -> None:
    made = objects({"max_replicas": 4}, {"scrape": "none"}, served_name="small")
    assert "PodMonitor" not in made
    query = made["ScaledObject"]["spec"]["triggers"][0]["metadata"]["query"]
    assert query == 'sum(vllm:num_requests_waiting{namespace="team-a",model_name="small"})'


@pytest.mark.parametrize(("scrape", "kind"), [("pod-monitor", "PodMonitor"), ("service-monitor", "ServiceMonitor"), ("annotations", "")])
def test_a_server_is_scraped_as_it_is_asked_for_and_by_default_only_where_it_is_scaled(scrape: str, kind: str) -> None:
    made = objects(None, {"scrape": scrape, **({"labels": {"release": "prom"}} if kind else {})})
    assert kind == "" or made[kind]["metadata"]["labels"]["release"] == "prom"
    noted = made["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert (noted.get("prometheus.io/port") == "8000") is (scrape == "annotations")
    assert not {"PodMonitor", "ServiceMonitor"} & set(objects())


def asked(made: dict[str, dict[str, Any]]) -> list[str]:
    """Every expression of a server's objects."""
    queries = [each["metadata"]["query"] for each in made.get("ScaledObject", {"spec": {"triggers": []}})["spec"]["triggers"]]
    rules = json.loads(made["ConfigMap"]["data"]["config.yaml"])["rules"] if "ConfigMap" in made else []
    return [*queries, *(rule["seriesQuery"] for rule in rules)]


@pytest.mark.parametrize("vllm", ["0.9.1", "0.10.2", "0.20.2", "0.29.0", "0.33.0"])
@pytest.mark.parametrize("kind", ["keda", "hpa"])
def test_every_series_that_is_asked_for_exists_in_the_engines_version(vllm: str, kind: str) -> None:
    found = asked(objects({"kind": kind, "max_replicas": 4}, image={"reference": f"vllm/vllm-openai:v{vllm}"}))
    named = [engine_series(query) for query in found]
    assert len(named) == 3
    assert all(len(names) == 1 and metric_status(names[0], vllm).exists for names in named), named


@pytest.mark.parametrize("signal", list(Signal))
def test_every_question_has_a_name_in_the_newest_version_and_another_one_under_ray(signal: Signal) -> None:
    name, under_ray = series(signal, None), series(signal, None, ray=True)
    assert name is not None
    assert under_ray == f"ray_{name.replace(':', '_')}"
    assert metric_status(under_ray, None).exists or metric_status(under_ray, "0.33.0").exists


def test_a_replica_is_added_when_half_of_what_one_runs_at_once_waits_and_none_goes_while_they_are_busy() -> None:
    found = triggers({"max_replicas": 4})
    assert {name: each["metadata"]["threshold"] for name, each in found.items()} == {"waiting": "64", "running": "102", "kv-usage": "0.8"}
    assert {name: each["metricType"] for name, each in found.items()}["kv-usage"] == "Value"
    assert list(triggers({"max_replicas": 4, "usage": 0, "waiting_per_replica": 5})) == ["waiting"]
    assert triggers({"max_replicas": 4, "waiting_per_replica": 5})["waiting"]["metadata"]["threshold"] == "5"
    assert triggers({"max_replicas": 4}, engine={"max_num_seqs": 16, "data_parallel_size": 2})["waiting"]["metadata"]["threshold"] == "16"


def test_no_answer_is_never_no_load_and_the_fallback_takes_no_replica_away() -> None:
    made = objects({"min_replicas": 2, "max_replicas": 4, "fallback_replicas": 3})["ScaledObject"]["spec"]
    assert {each["metadata"]["ignoreNullValues"] for each in made["triggers"]} == {"false"}
    assert made["fallback"] == {"failureThreshold": 3, "replicas": 3, "behavior": "currentReplicasIfHigher"}


def test_prometheus_is_asked_with_the_keys_of_an_existing_secret() -> None:
    given = {"url": "https://prometheus.obs:9090", "auth": "basic", "secret": "login", "ca_secret": "ca", "headers": {"X-Scope-OrgID": "a"}}
    made = objects({"max_replicas": 4}, {"prometheus": given})
    shown = {each["parameter"]: (each["name"], each["key"]) for each in made["TriggerAuthentication"]["spec"]["secretTargetRef"]}
    assert shown == {"username": ("login", "username"), "password": ("login", "password"), "ca": ("ca", "ca.crt")}
    first = made["ScaledObject"]["spec"]["triggers"][0]
    assert first["authenticationRef"]["name"] == made["TriggerAuthentication"]["metadata"]["name"]
    assert first["metadata"]["authModes"] == "basic"
    assert first["metadata"]["customHeaders"] == "X-Scope-OrgID=a"
    flows = plan(config(None, {"prometheus": given}), "d").servers[0].flows
    assert flows is not None
    assert "obs" in [peer.namespace for flow in flows.into for peer in flow.peers]


def test_hours_and_a_pause_are_keda_s_own() -> None:
    hours = [{"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timezone": "Europe/Berlin", "replicas": 3}]
    made = objects({"max_replicas": 4, "schedule": hours, "paused": True})["ScaledObject"]
    assert made["spec"]["triggers"][-1]["metadata"]["desiredReplicas"] == "3"
    assert made["metadata"]["annotations"]["autoscaling.keda.sh/paused"] == "true"
    still = objects({"kind": "hpa", "max_replicas": 4, "paused": True})["HorizontalPodAutoscaler"]["spec"]["behavior"]
    assert {still[way]["selectPolicy"] for way in ("scaleUp", "scaleDown")} == {"Disabled"}


def test_the_adapter_s_rules_export_exactly_what_the_horizontal_pod_autoscaler_reads() -> None:
    made = objects({"kind": "hpa", "max_replicas": 4})
    rules = json.loads(made["ConfigMap"]["data"]["config.yaml"])["rules"]
    read = [each["pods"]["metric"]["name"] for each in made["HorizontalPodAutoscaler"]["spec"]["metrics"]]
    assert [each["name"]["as"] for each in rules] == read
    assert {each["metricsQuery"][:3] for each in rules} == {"sum", "avg"}
    own = objects({"kind": "hpa", "max_replicas": 4, "metric": "queue"})
    assert "ConfigMap" not in own
    assert [each["pods"]["metric"]["name"] for each in own["HorizontalPodAutoscaler"]["spec"]["metrics"]] == ["queue"]


@pytest.mark.parametrize("scale", [{"min_replicas": 0, "max_replicas": 4}, {"min_replicas": 0, "max_replicas": 4, "usage": 0}])
def test_zero_replicas_without_anything_that_wakes_them_are_refused(scale: dict[str, Any]) -> None:
    found = [each for each in preview(config(scale), "dev", today=TODAY).refused if each.code == "SCALE-006"]
    assert [each.path for each in found] == ["servers[0].autoscale.min_replicas"]


@pytest.mark.parametrize(
    "how",
    [
        {"wake": {"query": "sum(envoy_cluster_upstream_rq_active)"}},
        {"schedule": [{"start": "0 8 * * *", "end": "0 9 * * *", "replicas": 1}]},
    ],
)
def test_zero_replicas_that_something_wakes_are_taken(how: dict[str, Any]) -> None:
    given = config({"min_replicas": 0, "max_replicas": 4, **how})
    assert not preview(given, "dev", today=TODAY).refused
    made = objects({"min_replicas": 0, "max_replicas": 4, **how})["ScaledObject"]["spec"]
    assert made["triggers"][0]["metadata"]["query"].endswith(" or vector(0)")
    assert made["cooldownPeriod"] >= 600


@pytest.mark.parametrize(
    ("scale", "monitoring", "said"),
    [
        ({"max_replicas": 2, "kind": "hpa", "wake": {"query": "up"}}, {}, "wake is KEDA's"),
        ({"max_replicas": 2, "kind": "hpa", "min_replicas": 0}, {}, "nothing wakes it"),
        ({"max_replicas": 2, "schedule": [{"start": "8 o'clock", "end": "0 9 * * *", "replicas": 1}]}, {}, "as cron writes it"),
        ({"max_replicas": 2, "schedule": [{"start": "0 8 * * *", "end": "0 9 * * *", "replicas": 5}]}, {}, "above max_replicas 2"),
        ({"max_replicas": 2, "fallback_replicas": 3}, {}, "fallback_replicas 3 is above max_replicas 2"),
        ({"max_replicas": 2}, {"prometheus": {"auth": "bearer"}}, "auth is stated without secret"),
        ({"max_replicas": 2}, {"prometheus": {"url": "https://p:9090", "ca_secret": "ca"}}, "ca_secret without auth is not read"),
        ({"max_replicas": 2}, {"prometheus": {"url": "prometheus:9090"}}, "is not an address"),
        ({"max_replicas": 2}, {"scrape": "annotations", "labels": {"a": "b"}}, "labels are those of a monitor"),
    ],
)
def test_what_contradicts_itself_is_refused_where_it_was_written(scale: dict[str, Any], monitoring: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        config(scale, monitoring)
