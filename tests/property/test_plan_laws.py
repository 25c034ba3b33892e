"""Laws of the plan: pure, total, ordered in time, and what it renders is a valid set of Kubernetes objects."""

import datetime as dt
import functools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import kubernetes_validate.utils
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.infra.config import ClusterConfig, load
from interlock.infra.manifests.render import render
from interlock.infra.plan.times import DEREGISTRATION_SECONDS
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from interlock.runtime import spec
from interlock.runtime.preflight import plan as preflight
from interlock.runtime.supervise import command
from interlock.runtime.supervise import servers as counted

TODAY = dt.date(2026, 11, 29)
SCHEMA = "1.31"
CUSTOM = {"HTTPRoute", "LeaderWorkerSet", "PodMonitor", "ScaledObject", "ServiceMonitor", "TriggerAuthentication"}

routes = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["httproute", "ingress"]),
            "timeout_seconds": st.sampled_from([0, 600, 1200]),
        }
    ),
)
scales = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["keda", "hpa"]), "min_replicas": st.integers(1, 3), "max_replicas": st.integers(3, 12)}
    ),
)


@st.composite
def servers(draw: st.DrawFn, index: int, pools: list[str]) -> dict[str, Any]:
    engine = {
        "tensor_parallel_size": draw(st.sampled_from([None, 1, 2, 3, 4, 8])),
        "pipeline_parallel_size": draw(st.sampled_from([None, 1, 2])),
        "data_parallel_size": draw(st.sampled_from([None, None, 1, 4])),
    }
    scale = draw(scales)
    return {
        "name": f"s{index}",
        "model": {
            "id": "org/model",
            "unsized": "weights are not always stated",
            "attention_heads": draw(st.sampled_from([None, 28, 32, 64])),
            "weights_gib": draw(st.sampled_from([None, 1.0, 15.0, 140.0])),
        },
        "pool": draw(st.sampled_from(pools)),
        "replicas": 1 if scale else draw(st.integers(0, 9)),
        "gpus": draw(st.sampled_from([None, 1, 2, 4, 8, 16])),
        "nodes": draw(st.sampled_from([None, None, 1, 2, 3])),
        "balance": draw(st.sampled_from(["leader", "nodes"])),
        "engine": engine,
        "startup_seconds": draw(st.sampled_from([None, 10, 600])),
        "longest_answer_seconds": draw(st.sampled_from([30, 600])),
        "route": None if (route := draw(routes)) is None else {**route, "host": f"s{index}.example.org"},
        "autoscale": scale,
        "weights": draw(st.sampled_from([None, "weights"])),
        "rollout": {"strategy": draw(st.sampled_from([None, "surge", "in-place", "recreate"]))},
        "runtime": {"supervised": draw(st.sampled_from([True, True, False]))},
    }


@st.composite
def configs(draw: st.DrawFn) -> ClusterConfig:
    pools = [
        {
            "name": f"p{index}",
            "gpu": draw(st.sampled_from(["l4", "h100", "a100-80gb", "no-such-gpu"])),
            "gpu_memory": draw(st.sampled_from(["48Gi", "141Gi"])),
            "nodes": draw(st.integers(1, 4)),
            "gpus_per_node": draw(st.sampled_from([1, 2, 8])),
        }
        for index in range(draw(st.integers(1, 2)))
    ]
    names = [str(pool["name"]) for pool in pools]
    count = draw(st.integers(0, 3))
    data = {
        "target": {"local": "dev"},
        "namespace": "laws",
        "pools": pools,
        "stores": [{"name": "weights", "filled": "a test"}],
        "servers": [draw(servers(index, names)) for index in range(count)],
    }
    return load(data)


FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def templates(made: dict[str, Any]) -> list[dict[str, Any]]:
    """The pod templates of a workload: one, or a leader's and a worker's."""
    if made["kind"] == "LeaderWorkerSet":
        group = made["spec"]["leaderWorkerTemplate"]
        return [group["leaderTemplate"], group["workerTemplate"]]
    return [made["spec"]["template"]] if made["kind"] == "Deployment" else []


@FEW
@given(configs())
def test_the_plan_is_pure_total_and_survives_json(config: ClusterConfig) -> None:
    made = preview(config, "laws", today=TODAY)
    assert preview(config, "laws", today=TODAY) == made
    assert ClusterPlan.model_validate_json(made.model_dump_json()) == made


@FEW
@given(configs())
def test_every_time_is_below_the_one_that_must_outlast_it(config: ClusterConfig) -> None:
    for server in preview(config, "laws", today=TODAY).servers:
        times = server.times
        assert times.startup < times.progress_deadline < times.update_timeout
        assert times.deregistration + times.drain + times.teardown + 10 <= times.grace
        assert times.longest_answer <= times.drain
        assert (times.gateway or 0) <= times.drain
        assert times.engine_shutdown < times.teardown if server.supervised else times.engine_shutdown == times.drain
        if config.servers[server.index].startup_seconds is None:
            assert times.load < times.startup


@FEW
@given(configs())
def test_every_planned_engine_starts_under_its_supervisor_and_ends_within_its_pods_grace(config: ClusterConfig) -> None:
    made = preview(config, "laws", today=TODAY)
    for pod in (each["spec"] for item in render(config, made) for each in templates(item)):
        engine = pod["containers"][0]
        stop, grace = engine["lifecycle"]["preStop"]["sleep"]["seconds"], pod["terminationGracePeriodSeconds"]
        given = next((each["value"] for each in engine["env"] if each["name"] == spec.VARIABLE), None)
        shutdown = counted.number(engine["args"], "--shutdown-timeout") or 0
        assert stop >= DEREGISTRATION_SECONDS
        assert stop + shutdown + 10 <= grace
        if given is None:
            continue
        settings_of = spec.load({spec.VARIABLE: given})
        command.checked(engine["args"], spec.Spec(), {})
        preflight.check(settings_of.preflight)
        assert stop == settings_of.pre_stop_seconds
        assert grace == settings_of.grace_seconds
        assert shutdown < settings_of.teardown_seconds
        first = pod["initContainers"][-1]
        assert (first["resources"], first["env"]) == (engine["resources"], engine["env"])


@FEW
@given(configs())
def test_no_node_gets_more_pods_than_it_has_units_and_none_is_counted_twice(config: ClusterConfig) -> None:
    made = preview(config, "laws", today=TODAY)
    size = {server.name: server.pods[0].gpus for server in made.servers}
    for pool in made.pools:
        placed = Counter(name for use in pool.use for name in use.pods)
        assert all(use.asked == sum(size[name] for name in use.pods) <= use.units for use in pool.use)
        assert all(placed[server.name] <= server.max_replicas * server.nodes for server in made.servers if server.pool == pool.name)


@FEW
@given(configs())
def test_the_gpus_of_a_replicas_pods_are_tp_x_pp_x_dp_or_the_plan_is_refused(config: ClusterConfig) -> None:
    made = preview(config, "laws", today=TODAY)
    for server in made.servers:
        engine, own = server.args.engine, config.servers[server.index]
        over = sum(pods.count * pods.gpus for pods in server.pods)
        assert over == server.gpus
        if over != engine.tp * engine.pp * engine.dp:
            stated = own.gpus is not None or own.nodes is not None
            assert stated
            assert any(finding.path.startswith(f"servers[{server.index}]") for finding in made.findings)
        assert (server.nodes > 1) == (server.args.group is not None)


@pytest.fixture(scope="module")
def schemas() -> Iterator[None]:
    """The validator reads its files once, and not for every object."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kubernetes_validate.utils, "schema_contents", functools.cache(kubernetes_validate.utils.schema_contents))
        yield


@pytest.mark.usefixtures("schemas")
@FEW
@given(configs())
def test_every_object_has_a_unique_name_and_passes_strict_schema_validation(config: ClusterConfig) -> None:
    objects = render(config, preview(config, "laws", today=TODAY))
    names = [(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in objects]
    assert len(set(names)) == len(names)
    for each in objects:
        for template in templates(each):
            whole = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "any"}, "template": template}
            kubernetes_validate.validate(json.loads(json.dumps(whole)), SCHEMA, strict=True)
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(json.loads(json.dumps(each)), SCHEMA, strict=True)


@FEW
@given(configs())
def test_every_selector_finds_exactly_its_own_pods(config: ClusterConfig) -> None:
    objects = render(config, preview(config, "laws", today=TODAY))
    pods = [(each["metadata"]["name"], template["metadata"]["labels"]) for each in objects for template in templates(each)]
    for each in objects:
        if each["kind"] == "Service":
            wanted = each["spec"]["selector"].items()
            assert {name for name, labels in pods if wanted <= labels.items()} == {each["metadata"]["name"]}


@FEW
@given(configs())
def test_findings_about_our_own_config_name_its_fields(config: ClusterConfig) -> None:
    for finding in preview(config, "laws", today=TODAY).findings:
        assert finding.path.startswith(("servers[", "pools[", "stores[")), finding.text()
