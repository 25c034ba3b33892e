"""The measurements of order, tried on the engine that pretends: every way starts, short and long requests are answered and told apart."""

import dataclasses
from pathlib import Path

import pytest

from tools import gpu_kit
from tools.bench import gate_real
from tools.common import ToolError
from tools.gpu_kit import __main__ as kit
from tools.runtime.crowd import part
from tools.runtime.testing import Container


def test_every_way_is_measured(image: Path, tmp_path: Path) -> None:
    def make(archive: Path, folder: Path) -> Container:
        return Container(archive, image, folder, spec={"access": str(folder)}, patience=60)

    short = {"long_prompt": 400, "long_answer": 20, "short_prompt": 20, "short_answer": 2, "pause": 2, "warm": 0.2}
    stage = dataclasses.replace(gate_real.PROCESSORS, make=make, crowd=short, places=1, queues=(1,), held=0, tries=1)
    found = gate_real.ordered(stage, tmp_path, 10)
    assert [way for way, _ in found] == list(stage.ways())
    for seen in found.values():
        assert len(seen.shorts) == len(seen.short_steps) == 10
        assert part(seen.long_steps, 50) > part(seen.short_steps, 50)
        assert seen.refused == 0
        assert 0 < part(seen.shorts, 50) <= part(seen.shorts, 99)
    gate_real.tell(stage, found)


def test_the_kit_asks_for_a_model() -> None:
    assert gpu_kit.__doc__
    with pytest.raises(ToolError, match="name a folder or a repository"):
        kit.main([])
