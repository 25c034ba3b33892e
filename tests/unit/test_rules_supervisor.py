"""The supervisor in plans and in anybody's YAML: what is refused, what passes, and that one place says each number."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.catalog.hub import ELSEWHERE, PUBLIC, TOKENS
from interlock.infra.catalog.tables import table
from interlock.infra.errors import ConfigError
from interlock.infra.facts.supervisor import MIDDLEWARE, SETTINGS
from interlock.infra.manifests.render import render
from interlock.infra.manifests.supervised import PROBE_GRACE
from interlock.infra.preview import preview
from interlock.infra.recognise import Document, recognise
from interlock.infra.recognise.supervised import DEFAULTS
from interlock.infra.rules.judge import judge
from interlock.infra.rules.reading.units import pod_units
from interlock.infra.sizing.step import FIRST_USE, longest_step
from interlock.runtime import spec
from interlock.runtime.preflight import hub
from interlock.runtime.preflight import plan as preflight
from interlock.runtime.supervise import command
from interlock.runtime.words import RefusedError
from tests.support import TODAY, config
from tests.support.fixes import applied
from tools.findings.examples import examples

ROOT = Path(__file__).resolve().parents[2]
BARE = {"servers[0].runtime": {"supervised": False}}


def codes(changes: dict[str, Any]) -> set[str]:
    return {each.code for each in preview(config(changes), "dev", today=TODAY).findings}


def workload(changes: dict[str, Any]) -> dict[str, Any]:
    read = config(changes)
    made: dict[str, Any] = next(each for each in render(read, preview(read, "dev", today=TODAY)) if each["kind"] == "Deployment")
    return made


def engine(changes: dict[str, Any]) -> dict[str, Any]:
    return engine_of(workload(changes))


def engine_of(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["spec"]["template"]["spec"]["containers"][0]
    return found


def variable(container: dict[str, Any]) -> str:
    return str(next(each["value"] for each in container["env"] if each["name"] == spec.VARIABLE))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"servers[0].extra": {"env": {"VLLM_USE_RUST_FRONTEND": "1"}}}, "ROLL-018"),
        ({"servers[0].extra": {"args": ["--grpc"]}}, "ROLL-018"),
        ({"servers[0].extra": {"args": ["--disable-log-stats", "--api-server-count", "2"]}}, "ROLL-019"),
        ({"servers[0].runtime": {"hang_seconds": 20}}, "ROLL-020"),
        ({"servers[0].extra": {"env": {"VLLM_SERVER_DEV_MODE": "1"}}}, "SEC-010"),
    ],
)
def test_what_the_supervisor_could_not_watch_or_drain_is_told(change: dict[str, Any], code: str) -> None:
    assert code in codes(change)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"servers[0].extra": {"env": {"VLLM_USE_RUST_FRONTEND": "0"}}}, "ROLL-018"),
        (BARE | {"servers[0].extra": {"env": {"VLLM_USE_RUST_FRONTEND": "1"}}}, "ROLL-018"),
        (BARE | {"servers[0].extra": {"args": ["--grpc"]}}, "ROLL-018"),
        ({"servers[0].extra": {"args": ["--middleware", "mine.Keys"]}}, "ROLL-018"),
        ({"servers[0].extra": {"args": ["--disable-log-stats"]}}, "ROLL-019"),
        ({"servers[0].extra": {"args": ["--api-server-count", "2"]}}, "ROLL-019"),
        ({}, "ROLL-020"),
        ({}, "ROLL-015"),
        ({"servers[0].runtime": {"hang_seconds": 600}}, "ROLL-020"),
    ],
)
def test_what_it_can_watch_and_drain_passes(change: dict[str, Any], code: str) -> None:
    assert code not in codes(change)


def test_the_runtime_takes_what_the_plan_renders_and_a_bare_engine_renders_nothing_of_it() -> None:
    made = engine({})
    given = spec.load({spec.VARIABLE: variable(made)})
    preflight.check(given.preflight)
    assert given.drain_seconds + given.teardown_seconds + given.pre_stop_seconds + spec.MARGIN_SECONDS <= given.grace_seconds
    command.checked(made["args"], spec.Spec(), {})
    bare = engine(BARE)
    assert (bare["command"], "runtime" in json.dumps(bare)) == (["vllm", "serve"], False)
    assert "initContainers" not in workload(BARE)["spec"]["template"]["spec"]
    old = engine({"servers[0].image": {"reference": "vllm/vllm-openai:v0.11.0"}})
    assert old["command"] == ["vllm", "serve"], "its vLLM loads no heartbeat"


def test_no_predicted_number_stands_in_a_pod() -> None:
    numbers = json.loads(variable(engine({})))
    flat = [*numbers.values(), *numbers["preflight"].values(), *numbers["preflight"]["gpus"].values()]
    assert not any(isinstance(each, float) for each in flat)
    assert numbers["hang_seconds"] in (120, 300, 600, 900, 1800, 3600)


def test_preflight_follows_the_container_as_a_patch_leaves_it_and_asks_for_no_more() -> None:
    limits = {"nvidia.com/gpu": "2", "memory": "20Gi"}
    changed = {"name": "engine", "resources": {"requests": limits, "limits": limits}, "env": [{"name": "HF_TOKEN", "value": "x"}]}
    own = [{"name": "preflight", "imagePullPolicy": "Always"}, {"name": "mine", "image": "busybox:1", "command": ["true"]}]
    made = workload({"servers[0].extra": {"pod_patch": {"containers": [changed], "initContainers": own}}})
    pod = made["spec"]["template"]["spec"]
    other, first = pod["initContainers"]
    assert (other["name"], first["name"], first["imagePullPolicy"]) == ("mine", "preflight", "Always")
    assert first["resources"] == pod["containers"][0]["resources"]
    assert first["env"] == pod["containers"][0]["env"]
    looks = json.loads(variable(first))["preflight"]
    assert (looks["gpus"]["count"], looks["memory_mib"]) == (2, 20 * 1024)
    (read,) = recognise([Document(made)]).workloads
    assert pod_units(read, read.pods[0]).get() == 2
    first["resources"]["limits"]["nvidia.com/gpu"] = "4"
    (read,) = recognise([Document(made)]).workloads
    assert pod_units(read, read.pods[0]).get() == 4, "an init container that asks for more counts"


@pytest.mark.parametrize("form", [{}, BARE])
def test_what_a_liveness_probe_ends_has_time_left_after_pre_stop(form: dict[str, Any]) -> None:
    made = engine(form)
    assert made["livenessProbe"]["terminationGracePeriodSeconds"] - made["lifecycle"]["preStop"]["sleep"]["seconds"] == PROBE_GRACE


def test_the_supervisor_is_told_the_pod_as_patches_leave_it() -> None:
    def told(patch: dict[str, Any], **container: Any) -> dict[str, Any]:
        whole = {**patch, "containers": [{"name": "engine", **container}, *patch.get("containers", [])]}
        made: dict[str, Any] = json.loads(variable(engine({"servers[0].extra": {"pod_patch": whole}})))
        return made

    def mounts(name: str) -> dict[str, Any]:
        return {"name": "side", "image": "busybox:1", "volumeMounts": [{"name": name, "mountPath": "/here"}]}

    assert told({})["own_shm"] is True
    assert told({"containers": [mounts("tmp")]})["own_shm"] is True
    assert "own_shm" not in told({"containers": [mounts("shm")]})
    assert "own_shm" not in told({"volumes": [{"name": "shm", "emptyDir": None, "hostPath": {"path": "/dev/shm"}}]})
    assert told({"terminationGracePeriodSeconds": 60})["grace_seconds"] == 60
    assert told({}, lifecycle={"preStop": {"sleep": {"seconds": 40}}})["pre_stop_seconds"] == 40
    assert told({}, lifecycle=None)["pre_stop_seconds"] == 0
    assert "pre_stop_seconds" not in told({}, lifecycle={"preStop": {"sleep": None, "exec": {"command": ["mine"]}}})


@pytest.mark.parametrize(
    ("runtime", "told"),
    [
        ({"hang_seconds": 60}, "hang_seconds needs the supervisor: remove it, or set supervised: true"),
        ({"hang_seconds": 60, "log": "json"}, "hang_seconds, log need the supervisor: remove them"),
        ({"preflight": False, "log": "text"}, ""),
    ],
)
def test_what_only_the_supervisor_does_is_not_asked_of_a_bare_engine(runtime: dict[str, Any], told: str) -> None:
    if not told:
        config({"servers[0].runtime": {"supervised": False, **runtime}})
        return
    with pytest.raises(ConfigError, match=told):
        config({"servers[0].runtime": {"supervised": False, **runtime}})


def test_what_only_the_supervisor_does_is_not_asked_of_a_vllm_that_runs_bare() -> None:
    old = {"servers[0].image": {"reference": "vllm/vllm-openai:v0.11.0"}}
    engine(old | {"servers[0].runtime": {"preflight": False}})
    with pytest.raises(ConfigError, match=r"servers\[0\].runtime: hang_seconds needs the supervisor: .* vLLM 0.12"):
        engine(old | {"servers[0].runtime": {"hang_seconds": 60}})


def test_a_step_that_the_engine_is_told_to_wait_for_is_no_hang() -> None:
    def limit(changes: dict[str, Any]) -> str:
        return str(engine(changes)["livenessProbe"]["exec"]["command"][-1])

    assert limit({}) == "120"
    assert limit({"servers[0].extra": {"env": {"VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "1800"}}}) == "1800"
    assert limit({"servers[0].extra": {"env": {"VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "30"}}}) == "120"


def test_no_stack_mounts_what_another_ones_destroy_removes() -> None:
    def maps(stack: str) -> set[str]:
        read = config({})
        made = render(read, preview(read, stack, today=TODAY))
        names = {each["metadata"]["name"] for each in made if each["kind"] == "ConfigMap"}
        volumes = next(each for each in made if each["kind"] == "Deployment")["spec"]["template"]["spec"]["volumes"]
        assert {each["configMap"]["name"] for each in volumes if "configMap" in each} <= names
        return names

    assert maps("one")
    assert not maps("one") & maps("Two_2")


def test_the_remedy_of_a_short_limit_changes_what_the_supervisor_is_told_too() -> None:
    made = yaml.safe_load(examples()["ROLL-020"].bad)
    container = made["spec"]["template"]["spec"]["containers"][0]
    setting = next(each for each in container["env"] if each["name"] == SETTINGS)
    setting["value"] = '{"drain_seconds": 300, "hang_seconds": 20}'
    (found,) = (each for each in judge(recognise([Document(made)]), today=TODAY) if each.code == "ROLL-020")
    after = engine_of(applied(made, found.fixes))
    ours = preview(config({"servers[0].runtime": {"hang_seconds": 20}}), "dev", today=TODAY).findings
    assert [each.path for found in ours if found.code == "ROLL-020" for each in found.fixes] == ["servers[0].runtime.hang_seconds"]
    assert json.loads(variable(after)) == {"drain_seconds": 300, "hang_seconds": int(after["livenessProbe"]["exec"]["command"][-1])}


def test_a_probe_whose_own_grace_pre_stop_uses_up_is_told() -> None:
    def told(grace: int) -> bool:
        probe = {"name": "engine", "livenessProbe": {"terminationGracePeriodSeconds": grace}}
        return "ROLL-023" in codes({"servers[0].extra": {"pod_patch": {"containers": [probe]}}})

    assert (told(15), told(16)) == (True, False)
    assert not codes({}) & {"ROLL-023"}


def test_models_that_preflight_cannot_find_are_not_looked_for() -> None:
    def model(changes: dict[str, Any]) -> Any:
        return json.loads(variable(engine(changes)))["preflight"].get("model")

    assert model({}) is not None
    assert model({"servers[0].model": {"id": "org/mine", "path": "/mnt/mine", "weights_gib": 1}}) is None
    assert model({"servers[0].engine": {"hf_token": "hf_x"}}) is None, "preflight does not see the engine's own token"
    assert model({"servers[0].extra": {"args": ["--hf_token=hf_x"]}}) is None


FRONT = ["--middleware", MIDDLEWARE]
SERVE = ["vllm", "serve", "m", *FRONT]
MODULE = ["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"]
COMMANDS: list[tuple[list[str], str]] = [
    (SERVE, ""),
    (SERVE[:3], "ROLL-018"),
    (MODULE, "ROLL-018"),
    ([*MODULE, *FRONT], ""),
    ([*MODULE, *FRONT, "--disable-log-stats", "--data-parallel-size", "2"], ""),
    ([*SERVE, "--grpc"], "ROLL-018"),
    ([*SERVE, "--disable-log-stats"], ""),
    ([*SERVE, "--data-parallel-size", "2"], ""),
    ([*SERVE, "--data-parallel-size", "2", "--disable-log-stats"], "ROLL-019"),
    ([*SERVE, "-dp", "2", "--disable-log-stats"], "ROLL-019"),
    ([*SERVE, "-dp", "2", "-asc", "1", "--disable-log-stats"], ""),
    ([*SERVE, "-dp", "2", "--data-parallel-rank", "1", "--disable-log-stats"], ""),
    ([*SERVE, "-dp", "4", "-dpl", "2", "--data-parallel-hybrid-lb", "--disable-log-stats"], "ROLL-019"),
    ([*SERVE, "-dp", "4", "-dpl", "1", "--data-parallel-hybrid-lb", "--disable-log-stats"], ""),
    (["numactl", "-m", "0", "python3", "-m", "vllm.entrypoints.cli.main", "serve", "m"], "ROLL-018"),
]


@pytest.mark.parametrize(("given", "code"), COMMANDS)
def test_the_supervisor_and_the_rules_answer_alike(given: list[str], code: str) -> None:
    made = workload({})
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["args"] = given
    told = {each.code for each in judge(recognise([Document(made)]), {}, today=TODAY)}
    assert told & {"ROLL-018", "ROLL-019"} == ({code} if code else set())
    if not code:
        command.checked(given, spec.Spec(), {})
        return
    with pytest.raises(RefusedError):
        command.checked(given, spec.Spec(), {})


@pytest.mark.parametrize(
    ("image", "there", "said"),
    [
        ({"reference": "registry.local/own:vllm0.33.0-7"}, "0.33.1.dev3", "but the image has 0.33.1.dev3; the plan took it from"),
        ({"reference": "registry.local/own:vllm0.33.0-7"}, "0.33.0.dev3+g1", ""),
        ({"reference": "registry.local/own:7", "vllm": "0.33.0"}, "0.33.1", None),
        ({}, "0.32.0", None),
        ({}, "0.33.0+cu130", ""),
        ({}, "", "its version is not compared"),
    ],
)
def test_only_a_stated_version_is_held_against_the_image(tmp_path: Path, image: dict[str, str], there: str, said: str | None) -> None:
    given = spec.load({spec.VARIABLE: variable(engine({"servers[0].image": image} if image else {}))})
    assert given.vllm == "0.33.0"
    if there:
        (tmp_path / f"vllm-{there}.dist-info").mkdir()
    if said is None:
        with pytest.raises(RefusedError, match="change the image or the planned version"):
            command.checked(SERVE, given, {}, [str(tmp_path)])
        return
    found = command.checked(SERVE, given, {}, [str(tmp_path)])
    assert said in found if said else not found


ENVOY: dict[str, Any] = {"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyProxy", "metadata": {"name": "proxy"}}
DRAINS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"shutdown": {"drainTimeout": "60s"}}, True),
    ({"shutdown": {"drainTimeout": "15m"}}, False),
]


@pytest.mark.parametrize(("stated", "told"), DRAINS)
def test_a_part_whose_drain_is_shorter_than_the_longest_answer_is_told(stated: dict[str, Any], told: bool) -> None:
    read = config({})
    objects = [*render(read, preview(read, "dev", today=TODAY)), {**ENVOY, "spec": stated}]
    found = [each for each in judge(recognise([Document(each) for each in objects]), {}, today=TODAY) if each.code == "ROLL-021"]
    assert bool(found) is told
    if told:
        assert "Envoy Gateway: EnvoyProxy shutdown.drainTimeout is 60 s" in found[0].summary


def test_each_number_and_name_that_two_rooms_know_is_the_same() -> None:
    assert {name: spec.DEFAULTS[name] for name in DEFAULTS} == DEFAULTS
    assert (ELSEWHERE, TOKENS, PUBLIC) == ((hub.MODELSCOPE,), hub.TOKENS, hub.DEFAULT)
    assert (SETTINGS, MIDDLEWARE) == (spec.VARIABLE, command.MIDDLEWARE)
    page = (ROOT / "docs" / "runtime.md").read_text()
    for row in table("drains.json")["parts"]:
        assert f"| {row['part']} | `{row['setting']}` | {row['seconds']} | {row['source']} |" in page


def test_a_longer_prompt_and_a_larger_model_take_longer_steps_and_more_ranks_shorter_ones() -> None:
    base = {"weights": 10**10, "width": 10**5, "tokens": 8192, "context": 32768, "ranks": 2}
    least = longest_step(**base)
    assert least > FIRST_USE
    for name in ("weights", "width", "tokens", "context"):
        assert longest_step(**base | {name: 2 * base[name]}) > least
    assert longest_step(**base | {"ranks": 8}) < least
    assert longest_step(**base, offloaded=10**10) > least
