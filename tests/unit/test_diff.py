"""``interlock diff``: what a change does to objects, servers, requests that run, keys, findings and the bill."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.manifests.differences import HIDDEN, What, differences
from interlock.infra.preview import previewed
from interlock.infra.preview.changes import Before, Changes, changes
from tests.support import TODAY
from tests.support.commands import Ran, run

ROOT = Path(__file__).resolve().parents[2]
PROD: dict[str, Any] = yaml.safe_load((ROOT / "Pulumi.prod.yaml").read_text())["config"]["interlock:cluster"]


def config(**servers: dict[str, Any] | None) -> dict[str, Any]:
    """The prod stack with fields of servers changed; None removes the server."""
    made = json.loads(json.dumps(PROD))
    kept = [each for each in made["servers"] if servers.get(each["name"], {}) is not None]
    for each in kept:
        each.update(servers.get(each["name"]) or {})
    return {**made, "servers": kept}


def change(before: dict[str, Any], after: dict[str, Any], prices: dict[str, float] | None = None) -> Changes:
    old, new = (previewed(load(each), "prod", today=TODAY) for each in (before, after))
    return changes(Before.of(old), new, prices)


def named(found: Changes) -> set[tuple[str, str, What]]:
    return {(each.kind, each.name, each.what) for each in found.objects}


def test_a_stack_against_itself_changes_nothing() -> None:
    found = change(PROD, config())
    assert found.nothing
    assert (found.cards, found.new, found.gone) == ((), (), ())


def test_an_argument_of_the_engine_replaces_the_pods_of_its_server_and_of_no_other() -> None:
    found = change(PROD, config(code={"engine": {"max_model_len": 16384, "max_num_seqs": 64, "gpu_memory_utilization": 0.9}}))
    assert named(found) == {("Deployment", "code", What.CHANGED)}
    (server,) = found.servers
    assert ("max-model-len", "32768", "16384") in server.rows
    assert server.restart is not None
    assert server.restart.steps == 4
    assert not server.restart.silent
    assert server.restart.seconds > server.restart.steps
    fields = {field.path: (field.before, field.after) for field in found.objects[0].fields}
    assert fields["spec.template.spec.containers[engine].args"] == (["--max-model-len 32768"], ["--max-model-len 16384"])


def test_a_server_that_is_replaced_in_its_place_is_told_as_an_outage() -> None:
    alone = {"replicas": 1, "rollout": {"strategy": "recreate"}}
    found = change(config(large=alone), config(large={**alone, "memory": "200Gi"}))
    (server,) = found.servers
    assert server.restart is not None
    assert server.restart.silent


def test_more_replicas_restart_nobody_and_take_gpus_with_their_price() -> None:
    found = change(PROD, config(large={"replicas": 3}), {"H100 80GB SXM": 2.0})
    (server,) = found.servers
    assert server.restart is None
    (cards,) = found.cards
    assert (cards.pool, cards.before, cards.after) == ("h100-nvlink", 8, 12)
    assert cards.monthly == 4 * 2.0 * 730


@pytest.mark.parametrize("replicas", [1, 3, 4])
def test_another_number_of_replicas_restarts_nobody(replicas: int) -> None:
    found = change(config(large={"replicas": replicas}), PROD)
    assert [(each.name, each.restart) for each in found.servers] == [("large", None)]


def test_a_removed_server_takes_all_of_its_objects_and_nothing_else() -> None:
    found = change(PROD, config(embed=None))
    assert {name for _, name, _ in named(found)} == {"embed"}
    assert {what for *_, what in named(found)} == {What.REMOVED}
    (server,) = found.servers
    assert (server.what, dict(server.after)) == (What.REMOVED, {})


def test_what_a_change_brings_and_removes_of_findings_is_told_once() -> None:
    found = change(PROD, config(large={"gpus": 2}))
    assert "GPU-001" in {each.code for each in found.new}
    assert "GPU-001" in {each.code for each in change(config(large={"gpus": 2}), PROD).gone}


def test_tenants_whose_keys_come_and_go_are_named() -> None:
    tenants = {"access": {"tenants": [{"name": "web"}, {"name": "batch"}]}}
    asked: dict[str, Any] = {"access": {}}
    without: dict[str, Any] = {"access": {"tenants": [{"name": "web"}]}}
    before, after = ({**config(chat=asked), **each} for each in (without, tenants))
    assert change(before, after).tenants == (("batch", What.ADDED),)
    assert change(after, before).tenants == (("batch", What.REMOVED),)


def objects(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}, "spec": spec}


def test_a_field_that_nobody_may_change_replaces_the_object() -> None:
    (found,) = differences([objects(selector={"a": "1"})], [objects(selector={"a": "2"})])
    assert (found.what, found.restarts) == (What.REPLACED, True)


def test_named_things_are_compared_by_name_and_their_order_is_told() -> None:
    one, two = {"name": "A", "value": "1"}, {"name": "B", "value": "2"}
    template = [{"template": {"env": each}} for each in ([one, two], [two, one], [one, {**two, "value": "3"}], [one])]
    before, *others = (objects(**each) for each in template)
    told = [
        [(field.path, field.before, field.after) for each in differences([before], [after]) for field in each.fields] for after in others
    ]
    assert told == [
        [("spec.template.env", ["A", "B"], ["B", "A"])],
        [("spec.template.env[B].value", "2", "3")],
        [("spec.template.env[B]", two, None)],
    ]


def test_what_is_secret_is_never_shown() -> None:
    made = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": each}} for each in ("b25l", "dHdv")]
    (found,) = differences(made[:1], made[1:])
    assert [(field.path, field.before, field.after) for field in found.fields] == [("data.key", HIDDEN, HIDDEN)]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the prod stack at HEAD."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.prod.yaml").write_text((ROOT / "Pulumi.prod.yaml").read_text())
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "prod"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    return tmp_path


def diff(*words: str) -> Ran:
    done = run("diff", *words)
    assert "Traceback" not in done.output
    return done


def edit(repository: Path, before: str, after: str) -> None:
    path = repository / "Pulumi.prod.yaml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_the_working_tree_is_compared_with_the_last_commit(repository: Path) -> None:
    assert diff("--stack", "prod").stdout == "stack prod against HEAD: nothing changes\n"
    edit(repository, "max_model_len: 32768", "max_model_len: 16384")
    done = diff("--stack", "prod")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "objects: 1 changed; 1 server restarted (code)" in done.stdout
    assert '["--max-model-len 32768"] -> ["--max-model-len 16384"]' in done.stdout
    told = json.loads(diff("--stack", "prod", "--json").stdout)
    assert [(each["kind"], each["name"], each["what"]) for each in told["objects"]] == [("Deployment", "code", "changed")]
    comment = diff("--stack", "prod", "--markdown").stdout
    assert comment.startswith("### Interlock: stack prod against HEAD: objects: 1 changed")
    assert "| code | changed | max-model-len: 32768 -&gt; 16384" in comment or "| code | changed | max-model-len: 32768 -> 16384" in comment


def test_a_refused_change_ends_with_1_and_names_what_it_brings(repository: Path) -> None:
    edit(repository, "tensor_parallel_size: 4", "tensor_parallel_size: 8")
    done = diff("--stack", "prod")
    assert done.exit_code == 1
    assert "findings that it brings:\n  GPU-001 error" in done.stdout


@pytest.mark.parametrize("named", ["shapes", "shapes/config.json"])
def test_a_config_of_a_model_is_read_as_it_was_named_as_a_file_or_as_its_folder(repository: Path, named: str) -> None:
    shapes = {"hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064}
    config = {"architectures": ["Qwen2ForCausalLM"], "intermediate_size": 18944, "max_position_embeddings": 32768, **shapes}
    (repository / "shapes").mkdir()
    (repository / "shapes" / "config.json").write_text(json.dumps(config))
    edit(repository, "id: Qwen/Qwen2.5-7B-Instruct", f"id: Qwen/Qwen2.5-7B-Instruct\n          config: {named}")
    for words in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "shapes"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    done = diff("--stack", "prod")
    assert (done.stderr, done.stdout, done.exit_code) == ("", "stack prod against HEAD: nothing changes\n", 0)


def test_a_stack_that_was_not_there_is_new(repository: Path) -> None:
    (repository / "Pulumi.next.yaml").write_text((repository / "Pulumi.prod.yaml").read_text())
    done = diff("--stack", "next")
    assert done.stderr == "Pulumi.next.yaml is not there at HEAD: everything is new\n"
    assert "chat: added" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--stack", "prod", "--against", "nowhere"), "--against: 'nowhere' is not a revision of this repository"),
        (("--stack", "prod", "--against", "--all"), "--against"),
        (("--stack", "prod", "--from", "no.yaml"), "cannot be read"),
        (("--stack", "prod", "--json", "--markdown"), "keep one"),
        (("--stack", "prod", "--prices", "prices.yaml"), "h1000: is not a GPU of the catalog"),
        (("--stack", "prod", "--against", "live"), "context 'prod' cannot be used from"),
        (("--stack", "pord"), "did you mean prod?"),
    ],
)
def test_what_cannot_be_compared_is_one_message_and_2(
    repository: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(repository / "none"))
    (repository / "prices.yaml").write_text("h1000: 2\nl4: none\n")
    done = diff(*words)
    assert done.exit_code == 2
    assert told in done.stderr
    assert not done.stdout


def test_a_folder_that_no_repository_holds_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "Pulumi.prod.yaml").write_text((ROOT / "Pulumi.prod.yaml").read_text())
    done = diff("--stack", "prod")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is not in a git repository; name another file with --from" in done.stderr


def scripts() -> list[tuple[str, str]]:
    """What the workflows run but for the installation, by their file."""
    folder = ROOT / "examples" / "ci"
    github = yaml.safe_load((folder / "github.yml").read_text())["jobs"]["interlock"]["steps"]
    gitlab = yaml.safe_load((folder / "gitlab.yml").read_text())["interlock"]["script"]
    steps = {"github.yml": [each["run"] for each in github if "run" in each], "gitlab.yml": gitlab}
    made = {name: "\n".join(each for each in found if not each.startswith("pip install")) for name, found in steps.items()}
    return [*made.items(), ("plain.sh", (folder / "plain.sh").read_text())]


@pytest.mark.parametrize(("name", "script"), scripts(), ids=lambda each: each if each.endswith(("yml", "sh")) else "")
def test_the_workflows_tell_a_change_and_fail_on_what_is_refused(repository: Path, name: str, script: str) -> None:
    (repository / "deploy").mkdir()
    (repository / "deploy" / "chat.yaml").write_text(
        (ROOT / "examples" / "refused" / "chat.yaml").read_text().replace('nvidia.com/gpu: "2"', 'nvidia.com/gpu: "4"')
    )
    edit(repository, "max_model_len: 32768", "max_model_len: 16384")
    around = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BASE": "HEAD",
        "GITHUB_STEP_SUMMARY": "summary.md",
    }

    def ran() -> tuple[int, str]:
        done = subprocess.run(["bash", "-e", "-c", script], env=around, capture_output=True, text=True, check=False)
        kept = [repository / each for each in ("summary.md", "interlock.md")]
        return done.returncode, done.stdout + done.stderr + "".join(each.read_text() for each in kept if each.exists())

    code, told = ran()
    assert code == 0, told
    assert "1 server restarted (code)" in told
    edit(repository, "tensor_parallel_size: 4", "tensor_parallel_size: 8")
    code, told = ran()
    assert code == 1, told
    assert "GPU-001" in told
