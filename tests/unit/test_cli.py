import json
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.cli.stackfile import read_stack
from interlock.infra.preview import preview
from tests.support import TODAY
from tests.support.commands import Ran, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack's file is looked for where the command is typed."""
    monkeypatch.chdir(ROOT)


def interlock(*arguments: str) -> Ran:
    done = run(*arguments)
    assert "Traceback" not in done.output
    return done


def test_the_command_is_a_program_with_an_exit_code_and_two_streams() -> None:
    command = [sys.executable, "-m", "interlock.cli.main", "plan", "--stack", "deb"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean dev?" in done.stderr


def test_the_plan_of_the_dev_stack_shows_pools_servers_and_what_costs_most() -> None:
    done = interlock("plan", "--stack", "dev")
    assert done.exit_code == 0
    for word in ("Pools", "chat", "Qwen/Qwen2.5-0.5B-Instruct", "1/1 (chat)", "no findings", "--why chat"):
        assert word in done.stdout
    assert len(done.stdout.splitlines()) < 30, "a plan of one server is read in half a minute"


def test_why_tells_every_number_of_the_server_that_is_named_and_of_no_other() -> None:
    told = interlock("plan", "--stack", "prod", "--why", "large").stdout
    assert "Why large is planned so" in told
    assert "rounded up the ladder of budgets" in told
    assert "Why chat" not in told
    done = interlock("plan", "--stack", "prod", "--why", "chatt")
    assert done.exit_code == 2
    assert "--why: 'chatt' is not a server of this stack (near: chat)" in done.stderr


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_of_a_config_is_planned_without_a_refusal(file: Path) -> None:
    read = read_stack(None, file)
    assert not preview(read.config, read.stack, today=TODAY).refused


def test_the_plan_and_the_objects_are_json_on_request() -> None:
    made = json.loads(interlock("plan", "--stack", "dev", "--json").stdout)
    assert made["servers"][0]["name"] == "chat"
    assert json.loads(interlock("render", "--stack", "dev", "--json").stdout)[0]["kind"] == "Namespace"


def test_a_refused_plan_ends_with_1_and_renders_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    pool = "{name: p, gpu: h100, nodes: 1, gpus_per_node: 8}"
    server = "{name: s, model: {id: a/b, unsized: a test}, pool: p, gpus: 2, engine: {tensor_parallel_size: 4}}"
    bad.write_text(f"target: {{local: dev}}\nnamespace: n\npools: [{pool}]\nservers: [{server}]\n")
    assert interlock("plan", "-f", str(bad)).exit_code == 1
    done = interlock("render", "-f", str(bad))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "GPU-001 error: servers[0].gpus = 2" in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "is not YAML: line 2, column 1"),
        ("- 1\n", "holds list, not a mapping"),
        ("", "is empty"),
        ("a: 1\na: 2\n", "a: stands twice: keep one of them"),
        ("config: {}\n", "interlock:cluster: is missing under config"),
        ("config:\n  interlock:cluster:\n    secure: abc\n", "is encrypted and cannot be read here"),
        ("namespace: n\n", "pools: is required and missing"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        ("a: &a {b: *a}\n", "is not acceptable YAML: line 1, column 4: an anchor refers to itself"),
        (
            "pools: &p0 [1,1]\n" + "".join(f"p{n}: &p{n} [{', '.join([f'*p{n - 1}'] * 9)}]\n" for n in range(1, 12)),
            "more than 300000 values once anchors are expanded",
        ),
    ],
)
def test_a_bad_file_ends_with_2_and_one_message(tmp_path: Path, content: str | bytes, message: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = interlock("plan", "-f", str(file))
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_missing_file_a_folder_and_no_stack_at_all_end_with_2(tmp_path: Path) -> None:
    for arguments in (("-f", str(tmp_path / "none.yaml")), ("-f", str(tmp_path)), ()):
        done = interlock("plan", *arguments)
        assert done.exit_code == 2, arguments
        assert done.stderr.strip()


def test_an_unknown_command_and_an_unknown_option_end_with_2() -> None:
    assert interlock("plane").exit_code == 2
    assert interlock("plan", "--stak", "dev").exit_code == 2


def test_the_simulated_nodes_carry_the_labels_taints_and_units_of_their_pool() -> None:
    node = json.loads(interlock("nodes", "--stack", "dev", "--json").stdout)[0]
    assert node["metadata"]["labels"]["interlock.dev/pool"] == "l4"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    assert node["spec"]["taints"][0]["key"] == "nvidia.com/gpu"


def test_a_servers_budget_is_explained_as_a_table_and_as_json() -> None:
    done = interlock("explain", "chat", "--stack", "dev")
    assert done.exit_code == 0
    for word in ("chat: fits", "weights", "KV cache", "how", "[1] tensor by tensor"):
        assert word in done.stdout
    assert json.loads(interlock("explain", "chat", "--stack", "dev", "--json").stdout)["verdict"] == "fits"


def test_a_server_that_is_not_there_is_named_with_those_that_are() -> None:
    done = interlock("explain", "chet", "--stack", "dev")
    assert done.exit_code == 2
    assert "SERVER: 'chet' is not a server of this stack; servers: chat (Pulumi.dev.yaml)" in done.stderr
