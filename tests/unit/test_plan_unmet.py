"""A wished load that does not fit is told with the replicas that it takes, and nothing is refused by it."""

import re
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.main import main
from interlock.cli.show import not_met
from interlock.infra.config import load
from interlock.infra.plan.plan import plan

LENGTHS = {"longest_prompt": 8000, "longest_answer": 1000}


def told(replicas: int = 1, **wishes: Any) -> list[str]:
    server = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "l4", "replicas": replicas, "wishes": wishes}
    pools = [{"name": "l4", "gpu": "l4", "nodes": 100, "gpus_per_node": 1}]
    config = load({"target": {"context": "c"}, "namespace": "n", "pools": pools, "servers": [server]})
    return [why.reason for _, why in not_met(plan(config, "s"))]


@pytest.mark.parametrize("wishes", [{}, LENGTHS, {"concurrent": 4, **LENGTHS}, {"requests_per_second": 0.005}])
def test_a_load_that_is_held_or_not_wished_is_not_told(wishes: dict[str, Any]) -> None:
    assert told(**wishes) == []


@pytest.mark.parametrize("wishes", [{"concurrent": 500, **LENGTHS}, {"requests_per_second": 1, **LENGTHS}, {"concurrent": 90}])
def test_the_replicas_that_are_told_hold_the_wished_load(wishes: dict[str, Any]) -> None:
    (text,) = told(**wishes)
    found = re.search(r"; (\d+) replicas would hold them$", text)
    assert found, text
    assert told(int(found[1]), **wishes) == []


def test_a_load_of_which_an_engine_holds_nothing_is_told_without_a_number_of_replicas() -> None:
    (text,) = told(requests_per_second=20, **LENGTHS)
    assert text.endswith("the others wait")


def test_the_plan_of_a_command_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        """target: {context: c}
namespace: n
pools: [{name: l4, gpu: l4, nodes: 1, gpus_per_node: 1}]
servers:
- name: chat
  model: {id: Qwen/Qwen2.5-7B-Instruct}
  pool: l4
  wishes: {longest_prompt: 8000, longest_answer: 1000, concurrent: 500}
"""
    )
    with pytest.raises(SystemExit) as ended:
        main(["plan", "-f", str(path)])
    assert ended.value.code == 0
    assert "500 at the same time are wished, and 1 replica surely holds" in " ".join(capsys.readouterr().out.split())
