"""A claim that is made new and that nobody fills holds no model."""

from typing import Any

import pytest

from tests.unit.test_rules_traps import Change, Manifest, box, claim, env, pod, put, server, worst

LOCAL = put("command", value=["vllm", "serve", "/models/qwen"])


def stored(made: Manifest) -> None:
    pod(made)["volumes"].append({"name": "weights", "persistentVolumeClaim": {"claimName": "cache"}})
    box(made)["volumeMounts"].append({"name": "weights", "mountPath": "/models"})


def filled(read_only: bool = False) -> Change:
    def change(made: Manifest) -> None:
        mounts = [{"name": "weights", "mountPath": "/models", "readOnly": read_only}]
        pod(made)["initContainers"] = [{"name": "fetch", "image": "python:3.12-slim", "command": ["fetch"], "volumeMounts": mounts}]

    return change


def replicas_own(made: Manifest) -> None:
    made["kind"] = "StatefulSet"
    made["spec"] |= {
        "serviceName": "chat",
        "volumeClaimTemplates": [{"metadata": {"name": "weights"}, "spec": claim("ReadWriteOnce")["spec"]}],
    }
    made["spec"].pop("strategy")
    box(made)["volumeMounts"].append({"name": "weights", "mountPath": "/models"})


def made(**spec: Any) -> Manifest:
    claimed = claim("ReadWriteOnce")
    return {**claimed, "spec": {**claimed["spec"], **spec}}


@pytest.mark.parametrize(
    ("level", "documents"),
    [
        ("info", [server(LOCAL, stored), made()]),
        ("info", [server(LOCAL, stored, filled(read_only=True)), made()]),
        ("warning", [server(LOCAL, replicas_own)]),
        ("none", [server(LOCAL, stored)]),
        ("none", [server(LOCAL, stored, filled()), made()]),
        ("none", [server(LOCAL, replicas_own, filled())]),
        ("none", [server(LOCAL, stored), made(dataSource={"kind": "VolumeSnapshot", "name": "models"})]),
        ("none", [server(LOCAL, stored), made(volumeName="disk")]),
        ("none", [server(LOCAL, stored), made(storageClassName="")]),
        ("none", [server(stored), made()]),
        ("none", [server(put("command", value=["sh", "-c", "fetch && vllm serve /models/qwen"]), stored), made()]),
        ("none", [server(LOCAL, stored), made(), server(stored, lambda other: other["metadata"].update(name="filler"))]),
        ("none", [server(LOCAL, stored, env(HF_HUB_OFFLINE="1"), filled()), made()]),
    ],
)
def test_a_model_on_a_new_claim_needs_somebody_who_puts_it_there(level: str, documents: list[Manifest]) -> None:
    assert worst("STO-013", *documents) == level
