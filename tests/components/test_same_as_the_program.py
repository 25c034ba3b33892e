"""A component that is used alone makes what the program makes of the same config, and the program's are made by the same classes."""

from pathlib import Path
from typing import Any

import pytest

from interlock.cli.stackfile import read_stack
from interlock.components.model_route import ModelRoute
from interlock.components.vllm_server import VllmServer
from interlock.infra.manifests.runtime import owner_of, runtime_name
from interlock.infra.preview import preview
from interlock.stacks.program import deploy
from interlock.stacks.settings import Settings
from tests.support import TODAY
from tests.support.monitor import Run, run
from tools.common import ROOT


def stack(name: str) -> tuple[Any, Run]:
    config = read_stack(name, None, ROOT).config
    settings = Settings(name, "", config, "kubeconfig", "context")
    return config, run(lambda: deploy(settings, preview(config, name, today=TODAY), "uid"), stack=name)


def objects(seen: Run, server: str) -> dict[str, Any]:
    return {each.request.name: each.inputs for each in seen.objects if each.request.parent.endswith(f"VllmServer::{server}")}


def test_a_server_alone_is_the_server_of_the_stack() -> None:
    config, seen = stack("dev")
    (server,) = config.servers
    pool = next(each for each in config.pools if each.name == server.pool)
    args: Any = {
        "server": server.model_dump(mode="json", exclude_unset=True),
        "pool": pool.model_dump(mode="json", exclude_unset=True),
        "namespace": config.namespace,
        "network": config.network.model_dump(mode="json", exclude_unset=True),
        "stores": [each.model_dump(mode="json", exclude_unset=True) for each in config.stores],
        "waivers": [each.model_dump(mode="json", exclude_unset=True) for each in config.waivers],
    }
    alone = objects(run(lambda: VllmServer(server.name, args), stack="dev"), server.name)
    parts = {name: each for name, each in alone.items() if each["kind"] == "ConfigMap"}
    assert [each["metadata"]["name"] for each in parts.values()] == ["chat-runtime", runtime_name("chat")]
    pod = alone["chat-deployment"]["spec"]["template"]["spec"]
    (volume,) = (each for each in pod["volumes"] if each["name"] == "runtime")
    assert volume["configMap"].pop("name") == runtime_name("chat")
    volume["configMap"]["name"] = runtime_name(owner_of("dev"))
    assert {name: each for name, each in alone.items() if name not in parts} == objects(seen, server.name)


def test_the_runtimes_archive_is_applied_belongs_to_its_anchor_and_outlives_an_update() -> None:
    named = {each.request.name: each for each in stack("dev")[1].resources}
    anchor, archive = named["workspace-runtime"], named["workspace-runtime-archive"]
    assert (anchor.request.type, archive.request.type) == ("kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:ConfigMapPatch")
    assert (anchor.request.retainOnDelete, archive.request.retainOnDelete) == (False, True)
    (owner,) = archive.inputs["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("ConfigMap", anchor.inputs["metadata"]["name"])


@pytest.mark.parametrize("name", ["dev", "prod", "platform"])
def test_the_program_uses_the_classes_of_the_package_and_the_former_names_lead_to_them(name: str) -> None:
    _, seen = stack(name)
    components = [each for each in seen.resources if each.request.type.startswith("interlock:index:")]
    assert components
    servers = seen.components("VllmServer")
    assert [[alias.spec.type for alias in each.request.aliases] for each in servers] == [["interlock:index:InferenceServer"]] * len(servers)


def test_the_program_judges_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A component that is given planned objects neither plans nor judges them again."""
    config = read_stack("prod", None, ROOT).config
    made = preview(config, "prod", today=TODAY)
    monkeypatch.setattr("interlock.components._made.judged", None)
    monkeypatch.setattr("interlock.components._made.plan", None)
    assert run(lambda: deploy(Settings("prod", "", config, "kubeconfig", "context"), made, "uid"), stack="prod").objects


def test_a_route_in_front_of_two_servers_has_a_rule_for_each_path() -> None:
    route: Any = {
        "route": {"host": "models.example.com", "timeout_seconds": 900},
        "namespace": "models",
        "backends": [
            {"service": "chat", "prefix": "/chat", "weight": 9},
            {"service": "next", "prefix": "/chat", "weight": 1},
            {"service": "code", "prefix": "/code"},
        ],
        "longest_answer_seconds": 900,
    }
    seen = run(lambda: {"urls": ModelRoute("models", route).urls})
    (made,) = seen.plain()
    rules = made["spec"]["rules"]
    assert [[(each["name"], each.get("weight")) for each in rule["backendRefs"]] for rule in rules] == [
        [("chat", 9), ("next", 1)],
        [("code", None)],
    ]
    assert [rule["matches"][0]["path"]["value"] for rule in rules] == ["/chat/v1", "/code/v1"]
    assert {rule["filters"][0]["urlRewrite"]["path"]["replacePrefixMatch"] for rule in rules} == {"/v1"}
    assert {rule["timeouts"]["request"] for rule in rules} == {"900s"}
    assert seen.values["urls"][2] == "http://models.example.com/code/v1"


def test_a_server_over_nodes_names_its_group_and_the_pods_that_take_requests_and_waits_as_long_as_the_plan() -> None:
    server: Any = {"model": {"id": "deepseek-ai/DeepSeek-R1"}, "engine": {"tensor_parallel_size": 8, "pipeline_parallel_size": 2}}
    pool: Any = {"name": "h100", "gpu": "h100-80gb-sxm", "gpus_per_node": 8, "nodes": 4, "cpu": "160", "memory": "2Ti"}
    args: Any = {"server": {**server, "nodes": 2}, "pool": pool, "namespace": "team-a"}

    def program() -> dict[str, Any]:
        made = VllmServer("big", args)
        return {name: getattr(made, name) for name in ("deployment", "service", "selector", "metrics_port", "gpus", "url")}

    seen = run(program)
    kinds = {each.inputs["kind"]: each for each in seen.objects}
    group, service = kinds["LeaderWorkerSet"], kinds["Service"].inputs
    templates = group.inputs["spec"]["leaderWorkerTemplate"]
    assert (seen.values["deployment"], seen.values["service"]) == (group.inputs["metadata"]["name"], service["metadata"]["name"])
    assert seen.values["selector"] == service["spec"]["selector"]
    assert seen.values["selector"].items() <= templates["leaderTemplate"]["metadata"]["labels"].items()
    assert not seen.values["selector"].items() <= templates["workerTemplate"]["metadata"]["labels"].items()
    (port,) = templates["leaderTemplate"]["spec"]["containers"][0]["ports"]
    assert (port["name"], port["containerPort"]) == ("http", seen.values["metrics_port"])
    assert (seen.values["gpus"], seen.values["url"]) == (16, "http://big.team-a.svc.cluster.local/v1")
    startup = templates["leaderTemplate"]["spec"]["containers"][0]["startupProbe"]
    waits = group.request.customTimeouts
    assert int(waits.create.removesuffix("s")) > startup["periodSeconds"] * startup["failureThreshold"]
    assert int(waits.delete.removesuffix("s")) > templates["leaderTemplate"]["spec"]["terminationGracePeriodSeconds"]


def test_an_example_is_short() -> None:
    lines = [line for line in Path(ROOT, "examples/own-program/__main__.py").read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) <= 35


def test_an_autoscaled_workload_begins_with_its_fewest_replicas_and_belongs_to_its_scaler_then() -> None:
    made = [each for each in stack("prod")[1].objects if each.inputs["kind"] == "Deployment"]
    found = {each.request.name: (each.inputs["spec"]["replicas"], list(each.request.ignoreChanges)) for each in made}
    scaled = (2, ["spec.replicas"])
    assert found == {"chat-deployment": scaled, "code-deployment": scaled, "large-deployment": (2, []), "embed-deployment": (2, [])}
