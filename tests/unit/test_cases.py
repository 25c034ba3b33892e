"""Facts of public failures: at least 19 of 20 verdicts are right, and nothing that worked is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.cases.__main__ import main, verdict
from tools.common import ToolError

FILE = Path(__file__).parents[1] / "data" / "cases.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_nineteen_of_twenty_judged_cases_get_the_right_verdict_and_at_most_one_in_ten_is_not_judged() -> None:
    said = {case["id"]: verdict(case)["verdict"] for case in CASES}
    judged = [case for case in CASES if said[case["id"]] != "unsupported"]
    right = [case for case in judged if said[case["id"]] == case["expected"]["verdict"]]
    assert len(right) >= 0.95 * len(judged)
    assert len(judged) >= 0.9 * len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case["expected"]["verdict"] == "accept"], ids=lambda case: case["id"])
def test_what_ran_is_not_refused(case: dict[str, Any]) -> None:
    said = verdict(case)
    assert said["verdict"] != "reject", said["why"]


def test_the_expected_verdict_is_not_read() -> None:
    case = {"id": "x", "input": CASES[0]["input"]}
    assert verdict(case)["verdict"] == verdict({**CASES[0], "id": "x"})["verdict"]


@pytest.mark.parametrize("given", [{}, {"id": "a"}, {"id": "b", "input": None}, {"id": "c", "input": {"weather": {"rain": 1}}}])
def test_a_case_that_speaks_of_nothing_known_is_unsupported(given: dict[str, Any]) -> None:
    assert verdict(given)["verdict"] == "unsupported"


@pytest.mark.parametrize("case", [case for case in CASES[::9] if verdict(case)["verdict"] != "unsupported"], ids=lambda case: case["id"])
def test_a_case_that_states_what_nobody_reads_is_not_judged(case: dict[str, Any]) -> None:
    for section in case["input"]:
        wider = json.loads(json.dumps(case))
        wider["input"][section]["x_unknown"] = ["anything", {"at": "all"}]
        assert verdict(wider) == {"id": case["id"], "verdict": "unsupported", "codes": [], "why": f"not read: {section}.x_unknown"}
    elsewhere = {**case, "input": {**case["input"], "weather": {"rain": True}}}
    assert verdict(elsewhere)["why"] == "not read: weather.rain"


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("k8s", "memory_limit", "below load peak"), ("k8s", "env", {"HF_TOKEN": "valid, licence not accepted"}), ("k8s", "operator", "a")],
)
def test_a_value_that_no_manifest_can_hold_is_not_read(section: str, key: str, value: object) -> None:
    case = {"id": "x", "input": {"model": {"name": "Qwen/Qwen3-8B"}, "gpu": {"type": "H100"}, section: {key: value}}}
    assert verdict(case)["why"] == f"not read: {section}.{key}"


def test_where_the_version_decides_between_acceptance_and_refusal_no_verdict_is_given_without_one() -> None:
    given = next(case for case in CASES if case["id"] == "dtype-01")["input"]
    stated = {**given, "vllm": {**given["vllm"], "version": "0.8.5"}}
    assert verdict({"input": given})["why"] == "the vLLM version decides: reject in 0.8.5, accept in 0.33.0"
    assert verdict({"input": stated})["verdict"] == "reject"


def test_silence_about_memory_is_no_acceptance_where_no_card_is_stated() -> None:
    model = {"name": "a", "q_heads": 32, "num_layers": 32, "params_b": 70}
    assert verdict({"input": {"model": model, "vllm": {"version": "0.33.0"}}})["why"] == "whether the model fits: no card is stated"


def test_one_line_of_json_for_each_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.jsonl"
    file.write_text("\n".join(json.dumps(case) for case in CASES[:2]) + "\n", encoding="utf-8")
    assert main([str(file)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [set(line) for line in lines] == [{"id", "verdict", "codes", "why"}] * 2


@pytest.mark.parametrize(("arguments", "said"), [(["/nowhere/cases.jsonl"], "/nowhere/cases.jsonl: No such file"), ([], "usage")])
def test_a_missing_file_or_argument_ends_with_two(arguments: list[str], said: str) -> None:
    with pytest.raises(ToolError, match=said) as caught:
        main(arguments)
    assert caught.value.code == 2
