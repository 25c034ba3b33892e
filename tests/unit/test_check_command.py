"""``interlock check`` as a person and a pipeline use it: formats, exit codes, waivers, baselines, settings."""

import datetime as dt
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from interlock.cli.check import run as checking
from interlock.cli.check.config import CheckConfig, Hint, read_config
from interlock.cli.reading import Reading, read_paths
from interlock.infra.errors import ConfigError
from interlock.infra.facts import Bundle, Workload
from interlock.infra.rules.findings import Severity, Waiver
from tests.support import engine_text
from tests.support.commands import Ran as Result
from tests.support.commands import run as command

SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json").read_text())
KEYS = ["file", "document", "kind", "name", "code", "fault", "severity", "path", "line", "summary", "remedy"]

BAD = engine_text(image="vllm/vllm-openai:v0.11.0", args=("--model=Qwen/Qwen2.5-7B-Instruct", "--tensor-parallel-size=4"))

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return partial(command, "check")


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)
    return name


def codes(result: Result) -> list[str]:
    return [json.loads(line)["code"] for line in result.stdout.splitlines()]


def gpu_line(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in map(json.loads, result.stdout.splitlines()) if row["code"] == "GPU-001")
    return found


def test_a_finding_is_one_json_line_with_the_published_keys(run: Run) -> None:
    result = run(write("a.yaml", BAD), "--jsonl")
    row = gpu_line(result)
    assert list(row) == KEYS
    assert (row["file"], row["document"], row["kind"], row["name"], row["line"]) == ("a.yaml", 0, "Deployment", "chat", 16)
    assert (row["severity"], row["fault"]) == ("error", "tp-mismatch")
    assert row["path"] == 'spec.template.spec.containers[0].resources.limits["nvidia.com/gpu"]'
    assert result.exit_code == 1


def test_a_file_that_is_not_judged_is_one_line_that_fails_nothing(run: Run) -> None:
    result = run(write("ns.yaml", "kind: Namespace\napiVersion: v1\nmetadata: {name: x}\n"), "--jsonl", "--fail-on", "info")
    (row,) = map(json.loads, result.stdout.splitlines())
    assert (row["code"], row["severity"], list(row)) == ("CHECK-000", "info", KEYS)
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((), 1), (("--fail-on", "never"), 0), (("--fail-on", "error"), 1), (("--waive", "GPU-001:*:shared on purpose"), 0)],
)
def test_the_exit_code_follows_the_severity_that_fails(run: Run, arguments: tuple[str, ...], code: int) -> None:
    assert run(write("a.yaml", BAD), *arguments).exit_code == code


def test_a_clean_file_ends_with_zero(run: Run) -> None:
    assert run(write("a.yaml", BAD.replace("gpu: 2", "gpu: 4"))).exit_code == 0


def test_standard_input_is_read_as_dash(run: Run) -> None:
    row = gpu_line(run("-", "--jsonl", text=BAD))
    assert row["file"] == "<stdin>"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("nope.yaml",), "does not exist"),
        (("a.yaml", "--waive", "GPU-001"), "is not a waiver"),
        (("a.yaml", "--waive", "gpu:*:some reason"), "is not a waiver"),
        (("a.yaml", "--waive", "GPU-0011:*:some reason"), "(near: GPU-001"),
        (("a.yaml", "--waive", "GPU-999:*:some reason"), "'GPU-999' is not the code of a finding"),
        (("a.yaml", "--baseline", "nope.json"), "is not a baseline"),
        (("a.yaml", "--config", "nope.yaml"), "cannot be read"),
        (("a.yaml", "--output", "no/such/folder/x"), "cannot be written"),
        (("a.yaml", "--format", "xml"), "invalid choice: 'xml'"),
        ((), "required: PATH"),
    ],
)
def test_what_cannot_run_ends_with_two_and_says_why(run: Run, arguments: tuple[str, ...], part: str) -> None:
    write("a.yaml", BAD)
    result = run(*arguments)
    assert result.exit_code == 2
    assert part in result.stderr


def test_text_names_file_line_object_arithmetic_and_way_out(run: Run) -> None:
    out = run(write("a.yaml", BAD)).stdout
    assert "a.yaml  Deployment/chat" in out
    assert "16:15  GPU-001 error" in out
    assert "fix: ask for 4 GPUs" in out
    assert out.rstrip().splitlines()[-1].startswith("1 error, ")


def test_sarif_is_valid_and_suppresses_what_is_waived(run: Run) -> None:
    report = json.loads(run(write("a.yaml", BAD), "--format", "sarif", "--waive", "GPU-001:*:shared on purpose").stdout)
    jsonschema.validate(report, SCHEMA)
    result = next(item for item in report["runs"][0]["results"] if item["ruleId"] == "GPU-001")
    assert result["suppressions"][0]["justification"] == "shared on purpose"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 16, "startColumn": 15}
    assert result["ruleId"] in {rule["id"] for rule in report["runs"][0]["tool"]["driver"]["rules"]}


def test_github_annotations_escape_what_would_break_them(run: Run) -> None:
    out = run(write("a,b%c.yaml", BAD), "--format", "github").stdout
    line = next(line for line in out.splitlines() if "GPU-001" in line)
    assert line.startswith("::error file=a%2Cb%25c.yaml,line=16,col=15,title=GPU-001::")
    assert "%0Afix: " in line


def test_markdown_cannot_be_broken_by_what_a_manifest_holds(run: Run) -> None:
    out = run(write("a.yaml", BAD.replace("name: chat\n", 'name: "a|b`<img>@all"\n', 1)), "--format", "markdown").stdout
    row = next(line for line in out.splitlines() if "GPU-001" in line)
    assert row.count("|") - row.count("\\|") == 6
    assert "<img>" not in out
    assert "@all" not in out


def test_a_comment_never_exceeds_what_github_takes(run: Run) -> None:
    long = BAD.replace("name: chat", f"name: {'c' * 20_000}")
    for number in range(4):
        write(f"d/{number}.yaml", long)
    out = run("d", "--format", "markdown").stdout
    assert len(out) < 65_536
    assert "More findings" in out


def test_junit_has_a_failure_per_finding_and_a_pass_per_clean_file(run: Run) -> None:
    write("d/bad.yaml", BAD)
    write("d/ns.yaml", "kind: Namespace\n")
    root = ElementTree.fromstring(run("d", "--format", "junit").stdout)
    suites = {suite.get("name"): suite for suite in root}
    assert suites["d/bad.yaml"].find("testcase/failure") is not None
    assert suites["d/ns.yaml"].find("testcase/skipped") is not None


def test_json_shows_waived_findings_with_their_reason(run: Run) -> None:
    report = json.loads(run(write("a.yaml", BAD), "--format", "json", "--waive", "GPU-001:Deployment/chat:on purpose").stdout)
    assert [item["waived"] for item in report["findings"] if item["code"] == "GPU-001"] == ["on purpose"]


def test_a_baseline_accepts_what_was_there_and_nothing_new(run: Run) -> None:
    write("a.yaml", BAD)
    assert run("a.yaml", "--write-baseline", "base.json").exit_code == 0
    moved = "# a comment that moves every line\n" + BAD
    assert run(write("a.yaml", moved), "--baseline", "base.json", "--jsonl").stdout == ""
    new = moved + "---\n" + BAD.replace("name: chat", "name: other")
    assert "GPU-001" in codes(run(write("a.yaml", new), "--baseline", "base.json", "--jsonl"))


def test_an_annotation_waives_with_a_reason(run: Run) -> None:
    text = BAD.replace("  name: chat\n", '  name: chat\n  annotations: {interlock.dev/waive: "GPU-001: a share of each card"}\n', 1)
    assert run(write("a.yaml", text)).exit_code == 0


def test_settings_come_from_the_nearest_file(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("deep/er/a.yaml", BAD)
    write(".interlock.yaml", "settings: {GPU-001.severity: warning}\n")
    monkeypatch.chdir(tmp_path / "deep" / "er")
    assert gpu_line(run("a.yaml", "--jsonl"))["severity"] == "warning"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("fail_on: sometimes\n", "fail_on"),
        ("unknown: 1\n", "unknown"),
        ("waivers: [{code: GPU-001, path: '*', reason: x}]\n", "waivers.0.reason"),
        ("a: [\n", "not valid YAML"),
        ("[]\n", ""),
    ],
)
def test_a_wrong_settings_file_names_the_field(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_config(path)
    assert part in str(raised.value)


def _result(tmp_path: Path, text: str, config: CheckConfig, waivers: tuple[Waiver, ...] = (), today: dt.date | None = None) -> Any:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    return checking.check_reading(read_paths([str(path)]), config, waivers, today)


def test_an_expired_waiver_waives_nothing(tmp_path: Path) -> None:
    waiver = Waiver(code="GPU-001", reason="until the new cards", expires=dt.date(2026, 1, 1))
    assert not _result(tmp_path, BAD, CheckConfig(), (waiver,), dt.date(2025, 12, 31)).failing(Severity.ERROR)
    assert _result(tmp_path, BAD, CheckConfig(), (waiver,), dt.date(2026, 1, 2)).failing(Severity.ERROR)


def test_a_pool_hint_lets_the_rules_know_the_nodes(tmp_path: Path) -> None:
    hint = Hint(gpu="l4", gpus_per_node=1)
    found = _result(tmp_path, BAD.replace("gpu: 2", "gpu: 4"), CheckConfig(pool=hint))
    assert "GPU-003" in {located.finding.code for located in found.findings}


def test_a_rule_that_fails_costs_only_the_file_it_fails_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from interlock.infra.rules.rule import Rule

    def broken(workload: Workload, bundle: Bundle, settings: Any) -> list[Any]:
        assert workload.origin.name != "chat"
        return []

    rule = Rule("GPU-999", Severity.ERROR, "d", "r", "s", "m", workload=broken)
    from interlock.infra.rules import judge as catalogue

    monkeypatch.setattr(catalogue, "RULES", (*catalogue.RULES, rule))
    (tmp_path / "bad.yaml").write_text(BAD)
    (tmp_path / "good.yaml").write_text(BAD.replace("name: chat", "name: other"))
    result = checking.check_reading(read_paths([str(tmp_path)]), CheckConfig())
    by_file = {
        Path(item.finding.subject.file).name: item.finding for item in result.findings if item.finding.code in ("GPU-001", "CHECK-000")
    }
    assert by_file["good.yaml"].code == "GPU-001"
    assert "failed on it" in by_file["bad.yaml"].summary


def test_broken_yaml_is_one_finding_at_its_line(run: Run) -> None:
    result = run(write("a.yaml", "kind: Pod\n---\na: 1\nb: [\n"), "--jsonl")
    (row,) = [row for row in map(json.loads, result.stdout.splitlines()) if row["fault"] == "yaml-invalid"]
    assert (row["document"], row["line"] >= 4, row["severity"]) == (1, True, "error")
    assert "error: line" in run("a.yaml").stdout


def test_nothing_to_read_is_clean() -> None:
    assert checking.check_reading(Reading(), CheckConfig()).findings == ()
