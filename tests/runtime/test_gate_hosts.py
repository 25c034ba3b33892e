"""One contract for every host of the gate: plain ASGI, the example, and FastAPI with the classes added as vLLM adds them."""

import os
import runpy
import subprocess
from pathlib import Path

import pytest

from interlock.runtime.gate import watched
from interlock.runtime.gate.library import guarded
from tools.engine_env import env
from tools.runtime import contract
from tools.runtime.fake_routes import FakeVllm

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    monkeypatch.setattr(watched, "_folders", {})
    contract.files(tmp_path)


@pytest.mark.parametrize("ordered", [False, True])
def test_plain_asgi(tmp_path: Path, ordered: bool) -> None:
    assert contract.faults(contract.in_process(guarded(FakeVllm(), str(tmp_path), ordered=ordered, cooling=ordered))) == []


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCESS_FOLDER", str(tmp_path))
    app = runpy.run_path(str(ROOT / "examples" / "tenants-asgi" / "app.py"))["app"]
    assert contract.faults(contract.in_process(app)) == []


def test_fastapi_of_the_engine(tmp_path: Path) -> None:
    """The FastAPI and Starlette that vLLM has; vLLM itself is not started."""
    if not env.whole(env.folder()):
        pytest.skip("the engine environment is not built: python -m tools.engine_env")
    environment = {"PYTHONPATH": str(ROOT), "INTERLOCK_BOARD": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [str(env.python_of(env.folder())), "-m", "tools.runtime.contract", str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    last = f"{len(contract.CASES)} cases, {contract.ANSWERED} reached the application"
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [last]), done
