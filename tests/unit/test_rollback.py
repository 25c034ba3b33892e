"""`interlock rollback`: the server's part of the stack file goes back to that of the last good update, and nothing else moves."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.cli.rollback import earlier, with_block
from tests.support.commands import run

TEXT = """\
# The whole stack.
config:
  interlock:cluster:
    target: {local: dev}
    namespace: ml
    pools: [{name: h100, gpu: h100, nodes: 1, gpus_per_node: 8}]
    servers:
      # The first one.
      - name: chat
        model: {id: Qwen/Qwen3-8B}   # new
        pool: h100
        engine:
          max_model_len: 16384
          hf_overrides: {rope_scaling: {factor: 2}}

      # The second one, which stays.
      - name: code
        model: {id: Qwen/Qwen3-8B}
        pool: h100
    # At the end.
    rules: {}
"""
OLD = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "h100"}


def update(time: str, *servers: dict[str, Any], kind: str = "update", result: str = "succeeded") -> dict[str, Any]:
    value = {"value": json.dumps({"servers": list(servers)}), "secret": False}
    return {"version": 0, "startTime": time, "kind": kind, "result": result, "config": {"interlock:cluster": value}}


def test_only_the_servers_part_of_the_file_is_replaced() -> None:
    made = with_block(TEXT, "chat", OLD)
    end = TEXT.index("\n      # The second")
    written = "      - name: chat\n        model:\n          id: Qwen/Qwen2.5-7B-Instruct\n        pool: h100\n"
    expected = TEXT[: TEXT.index("      - name: chat")] + written + TEXT[end:]
    assert made == expected


@pytest.mark.parametrize("server", ["chat", "code"])
def test_the_changed_file_reads_as_the_earlier_server(server: str) -> None:
    before, made = (
        yaml.safe_load(each)["config"]["interlock:cluster"] for each in (TEXT, with_block(TEXT, server, {**OLD, "name": server}))
    )
    old = {each["name"]: each for each in before["servers"]}
    assert {each["name"]: each for each in made["servers"]} == old | {server: {**OLD, "name": server}}
    assert {key: made[key] for key in made if key != "servers"} == {key: before[key] for key in before if key != "servers"}


def test_only_updates_that_succeeded_count() -> None:
    bad, other = {**OLD, "replicas": 9}, {"name": "code"}
    updates = [update("e", bad, result="failed"), update("d", other), update("c", OLD), update("b", bad, kind="destroy"), update("a", bad)]
    assert [each for each in earlier(updates, "chat")] == [("c", OLD), ("a", bad)]  # noqa: C416


@pytest.fixture
def pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `pulumi` that tells a history and writes down what it is asked for."""
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n[ "$2" = history ] && cat {tmp_path}/history || true\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "Pulumi.dev.yaml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_command_goes_back_and_deploys(pulumi: Path) -> None:
    chat = yaml.safe_load(TEXT)["config"]["interlock:cluster"]["servers"][0]
    (pulumi / "history").write_text(json.dumps([update("second", chat), update("first", {"pool": "h100", **OLD})]))
    done = run("rollback", "chat", "--stack", "dev")
    assert (done.exit_code, "chat as in the update of first:" in done.stdout) == (0, True)
    assert (pulumi / "asked").read_text().splitlines()[-1] == "up --yes --skip-preview --stack dev"
    made = yaml.safe_load((pulumi / "Pulumi.dev.yaml").read_text())["config"]["interlock:cluster"]["servers"][0]
    assert list(made.items()) == list(OLD.items())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("caht", "--stack", "dev"), "'caht' is not a server of this stack"),
        (("chat", "--stack", "dev"), "the last 50 updates that succeeded have the server 'chat' as it is now, or not at all"),
        (("chat", "--stack", "prod"), "'prod' does not exist"),
    ],
)
def test_what_cannot_go_back_is_one_message(pulumi: Path, words: tuple[str, ...], text: str) -> None:
    (pulumi / "history").write_text("[]")
    done = run("rollback", *words)
    assert done.exit_code == 2
    assert text in done.stderr
    assert (pulumi / "Pulumi.dev.yaml").read_text() == TEXT
