"""Laws of servers in a RayService: placement counts exactly, and Ray changes nothing that a client or a quota sees."""

import json
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interlock.infra.config import load
from interlock.infra.engine.arguments import read_line
from interlock.infra.errors import ConfigError
from interlock.infra.preview import previewed
from tests.support.build import TODAY, config_data

SIZES = st.fixed_dictionaries(
    {
        "tensor_parallel_size": st.sampled_from((1, 2, 4, 8)),
        "pipeline_parallel_size": st.sampled_from((1, 2)),
        "data_parallel_size": st.sampled_from((1, 1, 2)),
    }
)


def data(engine: dict[str, int], replicas: int, most: int | None, nodes: int) -> dict[str, Any]:
    made = config_data({"pools[0].nodes": nodes, "servers[0].served_name": "chat", "servers[0].route": {"host": "chat.example.org"}})
    scale = {"autoscale": {"min_replicas": replicas, "max_replicas": most}} if most else {"replicas": replicas}
    made["servers"] = [
        {**made["servers"][0], **scale, "engine": {"max_model_len": 8192, **engine}, "access": {"open": "the gateway asks for keys"}}
    ]
    return made


@settings(max_examples=30, deadline=None)
@given(SIZES, st.integers(1, 3), st.sampled_from((None, None, 4)), st.integers(1, 4))
def test_bundles_are_the_gpus_of_the_replicas_and_a_pod_of_the_group_holds_what_it_is_given(
    engine: dict[str, int], replicas: int, most: int | None, nodes: int
) -> None:
    written = data(engine, replicas, most, nodes)
    written["servers"][0]["serve"] = "ray"
    try:
        made = previewed(load(written), "dev", today=TODAY)
    except ConfigError as refused:
        assume("data-parallel ranks in Ray have one stage each" not in str(refused))
        raise
    server, ray = made.plan.servers[0], made.plan.servers[0].ray
    assert ray is not None
    spec = next(each.manifest for each in made.objects.drafts if each.manifest["kind"] == "RayService")["spec"]
    cluster, application = spec["rayClusterConfig"], json.loads(spec["serveConfigV2"])["applications"][0]["args"]
    model = application.get("llm_config") or application["llm_configs"][0]
    kwargs, bundle = model["engine_kwargs"], model["placement_group_config"]["bundle_per_worker"]
    sizes = [kwargs.get(name, 1) for name in ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")]
    assert bundle["GPU"] * ray.bundles == sizes[0] * sizes[1] * sizes[2] == server.gpus
    group = next(each for each in cluster["workerGroupSpecs"] if each["groupName"] == "chat")
    held = int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
    assert held * group.get("numOfHosts", 1) * group["maxReplicas"] == server.gpus * server.max_replicas
    inside = model["placement_group_config"]["strategy"] == "STRICT_PACK"
    assert ray.world <= held if inside else (ray.world % held == 0 and held % sizes[0] == 0) or made.plan.refused
    assert "gpu" not in str(cluster["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"])


@settings(max_examples=20, deadline=None)
@given(SIZES, st.integers(1, 3))
def test_ray_changes_no_gpus_no_name_no_route_and_no_limit(engine: dict[str, int], replicas: int) -> None:
    assume(not (engine["data_parallel_size"] > 1 and engine["pipeline_parallel_size"] > 1))
    written = data(engine, replicas, None, 4)
    # One version for both, as arguments follow from it.
    plain = previewed(
        load({**written, "servers": [{**written["servers"][0], "image": {"reference": "own/engine:vllm0.29.0"}}]}), "dev", today=TODAY
    )
    rayed = previewed(load({**written, "servers": [{**written["servers"][0], "serve": "ray"}]}), "dev", today=TODAY)
    one, other = plain.plan.servers[0], rayed.plan.servers[0]
    assert (one.gpus, one.replicas, one.max_replicas) == (other.gpus, other.replicas, other.max_replicas)
    assert one.args.engine == other.args.engine
    assert one.times.longest_answer == other.times.longest_answer
    assert [each.asked for each in plain.plan.pools] == [each.asked for each in rayed.plan.pools]
    routes = [
        [each.manifest["spec"]["hostnames"] for each in made.objects.drafts if each.manifest["kind"] == "HTTPRoute"]
        for made in (plain, rayed)
    ]
    assert routes[0] == routes[1] == [["chat.example.org"]]
    spec = next(each.manifest for each in rayed.objects.drafts if each.manifest["kind"] == "RayService")["spec"]
    application = json.loads(spec["serveConfigV2"])["applications"][0]["args"]
    model = application.get("llm_config") or application["llm_configs"][0]
    assert model["model_loading_config"]["model_id"] == one.args.served_model_name
    line = {flag.name.replace("-", "_") for flag in read_line(one.args.to_argv()).flags}
    of_the_server = {
        "served_model_name",
        "port",
        "shutdown_timeout",
        "api_server_count",
        "middleware",
        "nnodes",
        "node_rank",
        "master_addr",
    }
    assert line - of_the_server - {"headless"} == set(model["engine_kwargs"])
