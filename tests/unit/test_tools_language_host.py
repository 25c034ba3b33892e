"""The Python language host chooses a program's Python as Pulumi's own does, and shows a person no traceback of the engine's end."""

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pulumi
import pytest

from tools.cluster.processes import start_time
from tools.language_host import host, program


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    messages: list[str] = []
    monkeypatch.setattr(pulumi.log, "error", messages.append)
    return messages


class Unavailable(grpc.RpcError):  # type: ignore[misc]
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE


def test_the_virtualenv_option_counts_from_the_projects_folder(tmp_path: Path) -> None:
    assert host.virtualenv(tmp_path, {"toolchain": "uv", "virtualenv": ".venv"}) == tmp_path / ".venv"
    assert host.virtualenv(tmp_path, {"virtualenv": "/elsewhere"}) == Path("/elsewhere")


def test_the_uv_toolchain_takes_the_virtualenv_beside_the_nearest_lock(tmp_path: Path) -> None:
    inner = tmp_path / "services" / "one"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    assert host.virtualenv(inner, {"toolchain": "uv"}) == tmp_path / ".venv"
    (tmp_path / "services" / "uv.lock").touch()
    assert host.virtualenv(inner, {"toolchain": "uv"}) == tmp_path / "services" / ".venv"
    assert host.virtualenv(inner, {}) == tmp_path / "services" / ".venv"
    assert host.virtualenv(inner, {"toolchain": "pip"}) is None


def test_a_missing_virtualenv_is_named_with_the_way_out(tmp_path: Path) -> None:
    info: Any = SimpleNamespace(root_directory=str(tmp_path), options={"virtualenv": ".venv"})
    with pytest.raises(FileNotFoundError, match=rf"{tmp_path}/.venv does not exist; `uv sync"):
        host.interpreter(info)


def test_a_provider_is_started_as_the_folder_it_is_and_a_policy_pack_by_pulumis_module() -> None:
    address = ["127.0.0.1:4711"]
    assert host.plugin_command("python", "resource", address, "/plugin") == ["python", "-u", "/plugin", *address]
    assert host.plugin_command("python", "analyzer", address, "/pack") == ["python", "-u", "-m", "pulumi.policy", *address, "/pack"]


def test_a_plugin_asks_for_no_providers_and_a_program_for_those_of_its_environment(tmp_path: Path) -> None:
    asked: Any = SimpleNamespace(info=SimpleNamespace(root_directory=str(tmp_path), options={}))
    context: Any = None
    made = host.LanguageHost("127.0.0.1:1")
    assert "kubernetes" in [each.name for each in made.GetRequiredPackages(asked, context).packages]
    (tmp_path / "PulumiPlugin.yaml").touch()
    assert list(made.GetRequiredPackages(asked, context).packages) == []


def failed_with(error: BaseException, cause: BaseException | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    "error",
    [
        failed_with(Unavailable()),
        failed_with(RuntimeError("lost"), Unavailable()),
        failed_with(Exception("resource monitor shut down")),
        failed_with(pulumi.RunError("Resource monitor has terminated, shutting down")),
    ],
)
def test_when_the_engine_has_given_up_nothing_more_is_shown(error: Exception, shown: list[str]) -> None:
    assert program._report(error) == program.MESSAGE_ALREADY_SHOWN
    assert shown == []


def test_a_refusal_of_the_program_is_shown_without_a_traceback(shown: list[str]) -> None:
    class Refused(pulumi.RunError):
        pass

    assert program._report(failed_with(Refused("GPU-001 ..."))) == program.MESSAGE_ALREADY_SHOWN
    assert program._report(failed_with(RuntimeError("outer"), Refused("GPU-002 ..."))) == program.MESSAGE_ALREADY_SHOWN
    assert shown == ["GPU-001 ...", "GPU-002 ..."]


def test_a_mistake_of_the_program_is_shown_with_its_traceback(shown: list[str]) -> None:
    program._report(failed_with(IndexError("list index out of range")))
    assert "Traceback" in shown[0]
    assert "IndexError: list index out of range" in shown[0]


def test_a_program_ends_soon_after_the_host_that_started_it() -> None:
    folder = Path(program.__file__).parent
    inner = f"import sys, time; sys.path.insert(0, {str(folder)!r}); import program; program.end_with_parent(); time.sleep(600)"
    outer = (
        "import os, subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {inner!r}], env=os.environ | {{'INTERLOCK_PARENT': str(os.getpid())}})\n"
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert start_time(pid) is not None
        parent.kill()
    while start_time(pid) is not None:
        time.sleep(0.1)
