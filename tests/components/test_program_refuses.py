"""What a person sees of settings that cannot be used, from the program's own entry: one message, before the first resource."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from interlock.stacks.kubeconfig import RUN_FOLDER
from interlock.stacks.program import DEBUG, run

ROOT = Path(__file__).resolve().parents[2]
DEV: dict[str, Any] = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text("utf-8"))["config"]["interlock:cluster"]


@pytest.fixture
def refused(run_program: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs the dev stack's program with a change of its config, where no control plane is; gives the message that it ends with."""

    def message(**change: Any) -> str:
        monkeypatch.setenv(RUN_FOLDER, str(tmp_path))
        monkeypatch.setattr(pulumi.log, "debug", pulumi.log.debug)
        monkeypatch.setattr(pulumi, "get_root_directory", lambda: str(tmp_path))
        monkeypatch.setattr(pulumi.Config, "get_object", lambda *_: DEV | change)
        ended: list[str] = []

        def program() -> None:
            try:
                run()
            except pulumi.RunError as error:
                ended.append(str(error))

        recorded = run_program(program)
        assert recorded.resources in ([], [each for each in recorded.resources if each.type == "pulumi:pulumi:Stack"])
        (said,) = ended
        return said

    return message


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"local": "no-such-plane"}, "the local control plane 'no-such-plane' is not there: start it with `make up`"),
        ({"context": "x", "kubeconfig": "/no/such/file"}, "context 'x' cannot be used from /no/such/file"),
    ],
)
def test_a_cluster_that_is_not_there_is_one_clear_message(refused: Callable[..., str], target: dict[str, str], message: str) -> None:
    assert message in refused(target=target)


def kubeconfig(folder: Path) -> Path:
    """A kubeconfig whose one context leads to a port where nothing listens."""
    cluster = {"server": "https://127.0.0.1:9", "insecure-skip-tls-verify": True}
    made = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "dead", "cluster": cluster}],
        "users": [{"name": "any", "user": {"token": "t"}}],
        "contexts": [{"name": "dead", "context": {"cluster": "dead", "user": "any"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(made), "utf-8")
    return path


def test_a_context_that_is_not_there_is_one_clear_message(refused: Callable[..., str], tmp_path: Path) -> None:
    path = kubeconfig(tmp_path)
    assert f"context 'no-such-context' cannot be used from {path}" in refused(
        target={"context": "no-such-context", "kubeconfig": str(path)}
    )


def test_a_cluster_that_does_not_answer_is_one_clear_message(refused: Callable[..., str], tmp_path: Path) -> None:
    said = refused(target={"context": "dead", "kubeconfig": str(kubeconfig(tmp_path))})
    assert "https://127.0.0.1:9" in said
    assert "does not answer" in said


@pytest.mark.parametrize(
    ("change", "message"),
    [({"surprise": 1}, "surprise: unknown key"), ({"pools": "many"}, "pools"), ({"namespace": "x" * 64}, "namespace: 'xxx")],
)
def test_a_bad_configuration_is_one_clear_message(refused: Callable[..., str], change: dict[str, Any], message: str) -> None:
    said = refused(**change)
    assert message in said
    assert "Pulumi.dev.yaml" in said


SERVING = {"scope": "serving", "namespace": "x"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scope": "platform"}, "servers: a platform stack owns cluster-wide parts only"),
        ({**SERVING, "tenants": [{"name": "x"}]}, "tenants: namespaces and quotas belong to the cluster"),
    ],
    ids=["servers in a platform stack", "tenants in a serving stack"],
)
def test_what_belongs_to_another_scope_is_refused(refused: Callable[..., str], change: dict[str, Any], message: str) -> None:
    assert message in refused(**change)


def test_an_empty_passphrase_of_a_production_stack_is_refused(refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")
    assert "the passphrase that encrypts the state is empty" in refused(production=True)


def test_a_contradiction_is_refused_with_its_arithmetic_and_its_fix(refused: Callable[..., str]) -> None:
    server = DEV["servers"][0] | {"gpus": 2, "engine": {"tensor_parallel_size": 4}}
    said = refused(servers=[server])
    assert "GPU-001 error: servers[0].gpus = 2: TP 4 x PP 1 = 4 GPUs, but the replica asks for 2" in said
    assert "fix: set gpus to 4" in said
    assert "GPU-002 error" in said
    assert "nothing was changed" in said


@pytest.mark.parametrize("asked", [False, True])
def test_the_sdks_debug_texts_cost_no_call_to_the_engine_unless_they_are_asked_for(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, asked: bool
) -> None:
    if asked:
        monkeypatch.setenv(DEBUG, "1")
    with caplog.at_level(logging.DEBUG):
        refused(target={"local": "no-such-plane"})
    # The first texts come before the program is asked; this one after it.
    assert ("RPCs successfully completed" in caplog.text) is asked
