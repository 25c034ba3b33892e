"""Wrong arguments, told in one error before anything is registered: to a program in Python, and through the package's host alike."""

from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError

from interlock.components.gpu_device_plugin import GpuDevicePlugin
from interlock.components.host import Host, provider
from interlock.components.model_route import ModelRoute
from interlock.components.model_store import ModelStore
from interlock.components.package import COMPONENTS
from interlock.components.priority_classes import PriorityClasses
from interlock.components.queue_autoscaler import QueueAutoscaler
from interlock.components.vllm_server import VllmServer
from tests.support import changed
from tests.support.components import CASES, MODEL, POOL
from tests.support.monitor import Run, later, run

ARGS: dict[Any, Any] = {case.kind: case.args for case in CASES} | {
    VllmServer: {"server": {"model": MODEL, "engine": {"max_model_len": 8192}}, "pool": POOL, "namespace": "team-a"}
}
WRONG: list[tuple[type[pulumi.ComponentResource], dict[str, Any], tuple[str, ...]]] = [
    (VllmServer, {"server.model": None}, ("server.model: is required and missing",)),
    (VllmServer, {"server.servd_name": "chat"}, ("server.servd_name: unknown key; did you mean served_name?",)),
    (VllmServer, {"server.engine.enable_chunked_prefil": False}, ("unknown key; did you mean enable_chunked_prefill?",)),
    (VllmServer, {"server.engine.port": 9000}, ("server.engine.port: is not stated here: the Service and the probes use 8000",)),
    (VllmServer, {"server.engine.enable_sleep_mode": "on"}, ("server.engine.enable_sleep_mode: 'on': true or false is meant",)),
    (VllmServer, {"server.engine.swap_space": 4}, ("server.engine.swap_space = 4: --swap-space was removed after 0.17.1", "fix: remove")),
    (VllmServer, {"server.replicas": 2.5, "pool.nodes": True}, ("server.replicas: 2.5 is not an int", "pool.nodes: True is not an int")),
    (VllmServer, {"server.rollout": {"strategy": "blue"}}, ("server.rollout.strategy: 'blue' is not one of 'surge', 'in-place'",)),
    (VllmServer, {"server": []}, ("server: [] is not a mapping with keys such as name, model",)),
    (VllmServer, {"server.engine": []}, ("server.engine: [] is not a mapping with keys such as tensor_parallel_size",)),
    (VllmServer, {"pool.gpu": "h1000"}, ("pool.gpu: 'h1000' is not a GPU of the catalog (near: H200",)),
    (VllmServer, {"namespace": "Team_A"}, ("namespace: 'Team_A' is not a DNS label",)),
    (VllmServer, {"stack": "a b"}, ("stack: 'a b' cannot be a label's value",)),
    (VllmServer, {"server.replicas": lambda: later(2)}, ("server.replicas: is an output, and it decides what is made",)),
    (VllmServer, {"server.engine.hf_overrides": {"a": lambda: later(2)}}, ("server.engine.hf_overrides.a: is an output",)),
    (VllmServer, {"server.weights": "models", "weights_claim": "models"}, ("weights_claim: server.weights names the store 'models'",)),
    (VllmServer, {"image_digest": "latest", "server.image": {"reference": "a/b:v0.33.0"}}, ("image_digest: 'latest' is not a digest",)),
    (VllmServer, {"server.access": {"keys": True}}, ("server.access.keys: tenants belong to a whole stack",)),
    (VllmServer, {"waivers": [{"code": "GPU-999", "reason": "measured"}]}, ("waivers[0].code: 'GPU-999' is not the code of a finding",)),
    (VllmServer, {"rules": {"ROLL-001.least": 5}}, ("rules[\"ROLL-001.least\"]: ROLL-001 has no setting 'least'; it has: ",)),
    (ModelRoute, {"route.host": "https://a.example.org"}, ("route.host: 'https://a.example.org' is not a host name such as",)),
    (ModelRoute, {"route.paths": ["v1"]}, ("route.paths[0]: 'v1' is not a path prefix such as /v1",)),
    (ModelRoute, {"backends[0].prefix": "chat"}, ("backends[0].prefix: 'chat' does not begin with /",)),
    (ModelRoute, {"name": "Models_1"}, ("name: 'Models_1' cannot name an object", "state another one as the argument name")),
    (QueueAutoscaler, {"load_seconds": 0}, ("load_seconds: 0 is out of range: it must be at least 1",)),
    (ModelStore, {"store.kind": "node-sync"}, ("store.kind: 'node-sync' makes no object of its own: write it into the stores of",)),
    (GpuDevicePlugin, {"layer": {"kind": "installed"}}, ("layer.kind: 'installed' is a layer of somebody else",)),
    (PriorityClasses, {"classes[1].name": "serving"}, ("classes[1].name: 'serving' is already the name of",)),
]
NAMES = [f"{kind.__name__}-{'-'.join(changes)}" for kind, changes, _ in WRONG]


def made(value: Any, camel: bool) -> Any:
    """A copy with outputs of the program that runs; as the engine hands it over: keys in camelCase, numbers as floats."""
    if isinstance(value, dict):
        return {_camel(key) if camel else key: made(item, camel) for key, item in value.items()}
    if isinstance(value, list):
        return [made(item, camel) for item in value]
    if callable(value):
        return value()
    return float(value) if camel and isinstance(value, int) and not isinstance(value, bool) else value


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(other.capitalize() for other in others)


def wrong(kind: type[pulumi.ComponentResource], changes: dict[str, Any]) -> dict[str, Any]:
    args = dict(ARGS[kind])
    for path, value in changes.items():
        args = changed(args, path, value)
    return args


@pytest.fixture(scope="module")
def host() -> Host:
    return provider(COMPONENTS)


@pytest.mark.parametrize(("kind", "changes", "says"), WRONG, ids=NAMES)
def test_what_is_wrong_is_one_error_in_python_and_the_same_one_through_the_package(
    host: Host, kind: type[Any], changes: dict[str, Any], says: tuple[str, ...]
) -> None:
    args, seen = wrong(kind, changes), Run()
    with pytest.raises(pulumi.RunError) as native:
        seen.resources += run(lambda: kind("it", made(args, False))).resources
    told = str(native.value)
    assert told.startswith(f"{kind.__name__} 'it': ")
    assert [each for each in says if each not in told] == []
    assert "pydantic" not in told
    with pytest.raises(InputPropertiesError) as served:
        seen.resources += run(lambda: host.construct("it", f"interlock:index:{kind.__name__}", made(args, True))).resources
    assert served.value.message == told
    assert seen.resources == []


def test_every_argument_of_the_engine_is_taken_by_name_in_both(host: Host) -> None:
    engine = {
        "enable_chunked_prefill": False,
        "max_num_partial_prefills": None,
        "hf_overrides": {"rope_theta": 1000000},
        "middleware": ["a"],
    }
    args = wrong(VllmServer, {f"server.engine.{name}": value for name, value in engine.items() if value is not None})

    def arguments(seen: Run) -> list[str]:
        (deployment,) = [each for each in seen.plain() if each["kind"] == "Deployment"]
        return list(deployment["spec"]["template"]["spec"]["containers"][0]["args"])

    native = arguments(run(lambda: VllmServer("it", made(args, False))))
    assert "--no-enable-chunked-prefill" in native
    assert '{"rope_theta":1000000}' in native
    args["server"]["engine"].pop("hf_overrides")
    served = made(args, True)
    served["server"]["engine"]["hfOverrides"] = {"rope_theta": 1000000.0}
    assert arguments(run(lambda: host.construct("it", "interlock:index:VllmServer", served))) == native
