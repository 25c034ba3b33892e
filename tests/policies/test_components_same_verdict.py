"""A stranger's program made of components: the policy pack says of its objects what the plan said of its arguments."""

import re
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from interlock.components.vllm_server import VllmServer
from tests.support import changed
from tests.support.components import MODEL, POOL
from tests.support.monitor import Run, later, run

_CODE = re.compile(r"\b[A-Z]+-\d{3}\b")
ARGS: dict[str, Any] = {
    "server": {
        "model": MODEL,
        "engine": {"max_model_len": 8192},
        "route": {"host": "a.example.org"},
        "access": {"open": "the gateway asks for keys"},
    },
    "pool": POOL,
    "namespace": "team-a",
}
CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "fewer GPUs than TP": ("GPU-001", {"server.gpus": 2, "server.engine.tensor_parallel_size": 4}),
    "heads": ("GPU-002", {"server.gpus": 3, "server.engine.tensor_parallel_size": 3}),
    "a model that does not fit its card": (
        "MEM-001",
        {"server.model": {"id": "Qwen/Qwen2.5-72B-Instruct"}, "server.gpus": 1, "server.engine.tensor_parallel_size": 1},
    ),
    "more replicas than the pool holds": ("GPU-004", {"server.replicas": 17}),
    "answers longer than the route waits": ("NET-006", {"server.longest_answer_seconds": 1800}),
}


def program(changes: dict[str, Any], name: str = "chat") -> Run:
    args = dict(ARGS)
    for path, value in changes.items():
        args = changed(args, path, value)
    server: Any = VllmServer
    # The namespace is an output of somebody else's, as in examples/own-program.
    return run(lambda: server(name, {**args, "namespace": later("team-a")}))


def said(pack: Any, *runs: Run) -> set[str]:
    """The codes of what the pack refuses in a program of these components."""
    resources = [(each.request.type, each.request.name, each.inputs) for made in runs for each in made.objects]
    return {_CODE.findall(each.message)[0] for each in pack.stack(resources) if each.level == "mandatory"}


def test_what_a_component_accepts_the_pack_accepts(make_pack: Callable[..., Any]) -> None:
    assert said(make_pack(), program({})) == set()


@pytest.mark.parametrize(("code", "changes"), CHANGES.values(), ids=CHANGES)
def test_what_a_component_refuses_the_pack_refuses_and_a_waiver_holds_for_both(
    code: str, changes: dict[str, Any], make_pack: Callable[..., Any]
) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        program(changes)
    codes = set(re.findall(r"^([A-Z]+-\d{3}) error", str(refused.value), re.MULTILINE))
    assert code in codes
    waived = [{"code": each, "reason": "tried on purpose"} for each in sorted(codes)]
    accepted = program({**changes, "waivers": waived})
    assert said(make_pack(), accepted) == set()
    for each in accepted.objects:
        each.inputs["metadata"].get("annotations", {}).pop("interlock.dev/waive", None)
    assert said(make_pack(), accepted) == codes


def test_what_two_components_contradict_each_other_in_the_pack_tells(make_pack: Callable[..., Any]) -> None:
    """Each of them fits the pool alone; together they ask for more GPUs than it has."""
    many = {"server.replicas": 9, "server.rollout": {"strategy": "in-place"}}
    one, other = program(many), program(many, "second")
    assert said(make_pack(), one) == set()
    assert "GPU-004" in said(make_pack(), one, other)
