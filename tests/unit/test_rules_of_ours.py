"""A rule that is stricter with our own config says so in its declaration; no rule asks who wrote an object."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from interlock.infra.facts import Bundle, Origin, Place, Workload, known
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.judge import RULES, judge
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Rule
from tests.support import TODAY, engine_text
from tools.findings.examples import examples
from tools.findings.page import page

RULES_FOLDER = Path(__file__).resolve().parents[2] / "infra" / "rules"
IDLE = engine_text(args=("--model=Qwen/Qwen3-8B", "--tensor-parallel-size=1"))


def _severity(*, ours: bool, settings: dict[str, str] | None = None) -> Severity:
    bundle = recognise([Document(yaml.safe_load(IDLE))])
    mine = replace(bundle, workloads=tuple(replace(w, origin=replace(w.origin, ours=ours)) for w in bundle.workloads))
    (level,) = [each.severity for each in judge(mine, settings or {}, today=TODAY) if each.code == "GPU-001"]
    return level


def test_idle_gpus_are_a_warning_in_anybodys_yaml_and_an_error_in_our_config() -> None:
    assert (_severity(ours=False), _severity(ours=True)) == (Severity.WARNING, Severity.ERROR)


def test_a_chosen_level_counts_in_our_config_too() -> None:
    assert _severity(ours=True, settings={"GPU-001.severity": "info"}) is Severity.INFO


@pytest.mark.parametrize(("stated", "expected"), [(None, "error"), (Severity.WARNING, "error"), (Severity.INFO, "info")])
def test_what_could_not_be_decided_stays_an_info_in_our_config(stated: Severity | None, expected: str) -> None:
    def doubt(bundle: Bundle, settings: object) -> list[Hit]:
        return [Hit("spec", "said", "do", severity=stated, origin=Origin(ours=True))]

    rule = Rule("GPU-999", Severity.WARNING, "d.", "r", "s", "m", bundle=doubt, ours=Severity.ERROR)
    (finding,) = rule.judge(Bundle(), {})
    assert finding.severity == expected


def test_the_stricter_level_is_published() -> None:
    stricter = [rule.code for rule in RULES if rule.ours is not None]
    assert len(stricter) >= 6
    for code in stricter:
        assert re.search(rf"^\| \[{code}\].*; error in our config \|", page(), re.MULTILINE)


@pytest.mark.parametrize("path", sorted(RULES_FOLDER.rglob("*_*.py")), ids=lambda path: path.stem)
def test_no_rule_asks_who_wrote_an_object_or_how_it_was_recognised(path: Path) -> None:
    assert re.findall(r"origin\.(?:ours|form)\b", path.read_text("utf-8")) == []


def test_a_deployment_says_where_each_absent_thing_would_stand() -> None:
    for example in [each for each in examples().values() if each.form == "manifest"][:40]:
        documents = [Document(each, "a.yaml", i) for i, each in enumerate(yaml.safe_load_all(example.good)) if isinstance(each, dict)]
        for workload in recognise(documents).workloads:
            if workload.origin.kind in ("Deployment", "StatefulSet"):
                assert set(workload.paths) == set(Place)


def test_a_place_that_no_reader_knows_falls_back_to_pod_object_and_name() -> None:
    bare = Workload(Origin(path="spec.engine"))
    assert where(bare, Place.VOLUMES) == "spec.engine"
    assert where(Workload(Origin()), Place.ENV) == "env"
    assert where(bare, Place.ENV, known("x", "spec.here")) == "spec.here"
