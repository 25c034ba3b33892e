"""Documents against the API's fields: each kind of problem once, and silence on what is right."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from interlock.infra.facts import Bundle
from interlock.infra.recognise import Document, recognise

Change = Callable[[dict[str, Any]], None]


def deployment() -> dict[str, Any]:
    container = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": ["--model", "Qwen/Qwen3-8B"],
        "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 8000}],
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8000}, "initialDelaySeconds": 600},
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    pod = {"containers": [container], "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def pod(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["spec"]["template"]["spec"]
    return found


def engine(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod(document)["containers"][0]
    return found


def kinds(document: dict[str, Any]) -> list[tuple[str, str]]:
    bundle: Bundle = recognise([Document(document)])
    return [(problem.kind, problem.path) for problem in bundle.problems]


ENGINE = "spec.template.spec.containers[0]"
CASES: list[tuple[str, str, Change]] = [
    ("schema-broken", f"{ENGINE}.args[2]", lambda d: engine(d)["args"].append(8000)),
    ("schema-broken", f"{ENGINE}.env[0].value", lambda d: engine(d)["env"][0].update(value=1)),
    (
        "schema-broken",
        f"{ENGINE}.ports[0].containerPort",
        lambda d: engine(d)["ports"][0].update(containerPort="8000"),
    ),
    ("schema-broken", "spec.replicas", lambda d: d["spec"].update(replicas="2")),
    (
        "schema-broken",
        f'{ENGINE}.resources.limits["nvidia.com/gpu"]',
        lambda d: engine(d)["resources"]["limits"].update({"nvidia.com/gpu": "one"}),
    ),
    ("schema-broken", "spec", lambda d: d["spec"].pop("selector")),
    ("schema-broken", "spec.selector.matchLabels", lambda d: d["spec"]["selector"].update(matchLabels={"app": "b"})),
    ("schema-broken", f"{ENGINE}.volumeMounts[0].name", lambda d: pod(d).pop("volumes")),
    ("schema-broken", "apiVersion", lambda d: d.update(apiVersion="apps/v1beta1")),
    ("schema-typo", "spec.template.spec.restartPolcy", lambda d: pod(d).update(restartPolcy="Always")),
    ("schema-typo", f"{ENGINE}.envfrom", lambda d: engine(d).update(envfrom=[])),
    ("schema-misplaced", "spec.nodeSelector", lambda d: d["spec"].update(nodeSelector={})),
    ("schema-misplaced", "spec.template.spec.livenessProbe", lambda d: pod(d).update(livenessProbe={})),
    ("placeholder", f"{ENGINE}.image", lambda d: engine(d).update(image="<your-registry>/vllm-openai:v0.11.0")),
    ("template-leftover", "spec.template.spec.serviceAccountName", lambda d: pod(d).update(serviceAccountName="{{ account }}")),
]


@pytest.mark.parametrize(("kind", "path", "change"), CASES, ids=[f"{kind} {path}" for kind, path, _ in CASES])
def test_each_problem_is_found_where_it_stands(kind: str, path: str, change: Change) -> None:
    document = copy.deepcopy(deployment())
    change(document)
    assert (kind, path) in kinds(document)


RIGHT: list[tuple[str, Change]] = [
    ("nothing changed", lambda d: None),
    ("a port by name", lambda d: engine(d)["livenessProbe"]["httpGet"].update(port="http")),
    ("a quantity as a number", lambda d: engine(d)["resources"]["limits"].update(cpu=4)),
    ("quantities of all kinds", lambda d: engine(d)["resources"]["limits"].update({"cpu": "500m", "memory": "1.5Gi", "x.y/z": "1e3"})),
    ("a templated quantity", lambda d: engine(d)["resources"]["limits"].update(memory="${MEMORY}")),
    ("a templated number", lambda d: d["spec"].update(replicas="${REPLICAS}")),
    ("null for absent", lambda d: pod(d).update(nodeSelector=None)),
    ("a chat template", lambda d: engine(d)["args"].append("--chat-template={{ messages }}")),
    ("exported status", lambda d: d.update(status={"anything": 1})),
]


@pytest.mark.parametrize(("name", "change"), RIGHT, ids=[name for name, _ in RIGHT])
def test_what_the_api_server_takes_is_no_problem(name: str, change: Change) -> None:
    document = deployment()
    change(document)
    assert kinds(document) == []


def test_documents_without_an_engine_are_nobodys_business() -> None:
    document = deployment()
    engine(document).update(image="nginx", args=[1])
    assert kinds(document) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_a_problem_is_told_each_time_also_between_objects_without_one(case: tuple[str, str, Change]) -> None:
    wrong, right = deployment(), deployment()
    case[2](wrong)
    assert kinds(right) == kinds(right)
    first = kinds(wrong)
    assert (case[0], case[1]) in first
    assert kinds(right) == []
    assert kinds(wrong) == first
