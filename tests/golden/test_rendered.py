from pathlib import Path

import pytest

from tests.support.commands import run
from tools.common import ROOT
from tools.golden import FOLDER, reviewed, shown


@pytest.mark.parametrize("stack", reviewed())
def test_the_rendered_stack_is_the_reviewed_one(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    written = ROOT / FOLDER / f"{stack}.yaml"
    assert written.exists(), "write it with `make golden` and review it"
    done = run("render", *reviewed()[stack])
    assert shown(done.exit_code, done.stdout, done.stderr) == written.read_text("utf-8"), (
        "see `make diff`; when the change is meant, `make golden` and commit"
    )


def test_no_reviewed_file_is_left_of_a_stack_that_is_gone() -> None:
    assert sorted(path.stem for path in Path(ROOT / FOLDER).glob("*.yaml")) == sorted(reviewed())
