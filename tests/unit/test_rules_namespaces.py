"""What a namespace asks of its pods: the Pod Security level, and a LimitRange."""

from typing import Any

import pytest

from tests.unit.test_rules_traps import Change, Manifest, found, pod, put, server, worst

RESTRICTED: Manifest = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def space(level: str) -> Manifest:
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "models", "labels": labels}}


def context(**changed: Any) -> Change:
    """The security context of the engine's container; None takes a field out."""
    fields = {name: value for name, value in {**RESTRICTED, **changed}.items() if value is not None}
    return put("securityContext", value=fields)


def of_pod(**fields: Any) -> Change:
    def change(made: Manifest) -> None:
        pod(made)["securityContext"] = fields

    return change


def own_users(made: Manifest) -> None:
    pod(made)["hostUsers"] = False


def helper(made: Manifest) -> None:
    pod(made)["initContainers"] = [{"name": "fetch", "image": "busybox:1.36", "command": ["true"]}]


@pytest.mark.parametrize(
    ("enforced", "level", "changes"),
    [
        ("restricted", "none", [context()]),
        (
            "restricted",
            "none",
            [context(runAsNonRoot=None, seccompProfile=None), of_pod(runAsNonRoot=True, seccompProfile={"type": "Localhost"})],
        ),
        ("restricted", "none", [context(runAsNonRoot=None), own_users]),
        ("restricted", "error", [context(runAsNonRoot=False)]),
        ("restricted", "error", [context(runAsUser=0)]),
        ("restricted", "error", [context(allowPrivilegeEscalation=True)]),
        ("restricted", "error", [context(capabilities={"drop": ["ALL"], "add": ["IPC_LOCK"]})]),
        ("restricted", "error", [context(capabilities={"drop": ["NET_RAW"]})]),
        ("restricted", "error", [context(seccompProfile={"type": "Unconfined"})]),
        ("restricted", "warning", [context(seccompProfile=None)]),
        ("restricted", "warning", [context(), helper]),
        ("restricted", "warning", []),
        ("restricted", "none", [put("securityContext", value="${CONTEXT}")]),
        ("baseline", "none", []),
        ("baseline", "none", [context(runAsUser=0)]),
        ("baseline", "error", [context(capabilities={"add": ["SYS_ADMIN"]})]),
        ("baseline", "error", [context(privileged=True)]),
        ("privileged", "none", [context(privileged=True)]),
        ("", "none", [context(privileged=True)]),
    ],
)
def test_the_level_of_a_namespace_is_held_against_its_pods(enforced: str, level: str, changes: list[Change]) -> None:
    assert worst("SEC-015", server(*changes), *([space(enforced)] if enforced else [])) == level


def test_the_remedies_of_a_level_make_the_pod_one_that_it_takes() -> None:
    fixes = [fix for each in found(server(), space("restricted")) if each.code == "SEC-015" for fix in each.fixes]
    assert {fix.path.rpartition("securityContext.")[2] for fix in fixes} == {
        "allowPrivilegeEscalation",
        "runAsNonRoot",
        "seccompProfile.type",
    }


def limits(of: str = "Container", **item: Any) -> Manifest:
    spec = {"limits": [{"type": of, **item}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": "models"}, "spec": spec}


def sidecar(made: Manifest) -> None:
    pod(made)["containers"].append({"name": "proxy", "image": "envoyproxy/envoy:v1.34.0", "resources": {"limits": {"memory": "2Gi"}}})


@pytest.mark.parametrize(
    ("level", "documents"),
    [
        ("error", [server(), limits(max={"memory": "16Gi"})]),
        ("error", [server(), limits(max={"nvidia.com/gpu": "0"})]),
        ("error", [server(), limits(min={"memory": "64Gi"})]),
        ("error", [server(sidecar), limits("Pod", max={"memory": "33Gi"})]),
        ("none", [server(sidecar), limits("Pod", max={"memory": "34Gi"})]),
        ("none", [server(), limits(max={"memory": "32Gi", "cpu": "1"})]),
        ("none", [server(), limits(max={"memory": "${MOST}"})]),
        ("none", [server(), {**limits(max={"memory": "16Gi"}), "metadata": {"name": "limits", "namespace": "other"}}]),
        ("none", [server(), limits("PersistentVolumeClaim", max={"storage": "1Gi"})]),
    ],
)
def test_a_limit_range_is_held_against_containers_and_pods(level: str, documents: list[Manifest]) -> None:
    assert worst("SCALE-018", *documents) == level


def test_a_container_is_told_with_its_amount() -> None:
    told = next(each for each in found(server(), limits(max={"memory": "16Gi"})) if each.code == "SCALE-018")
    assert "asks for 32.0 GiB memory, and LimitRange limits allows a container 16Gi" in told.summary
