"""An environment per vLLM version: the CUDA wheel with its requirements, and a stand-in for the driver library."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.common import ToolError, home, locked, say

# As 0.33.0 bounds it.
TRANSFORMERS = "transformers<5.21"
DRIVER_SYMBOL = re.compile(r"\sU (cu[A-Z]\w*)")


def folder(version: str) -> Path:
    return home() / "oracle" / version


def ensure(version: str) -> Path:
    """The environment's folder, built if it is not there (about 9 GB on disk). Raises ToolError."""
    target = folder(version)
    with locked(target.with_name(f"{version}.lock"), f"waiting for another build of {target}"):
        if not (target / "ready").exists():
            say(f"oracle: building the environment of vLLM {version} in {target}")
            shutil.rmtree(target, ignore_errors=True)
            _run("uv", "venv", "-q", "--python", sys.executable, str(target))
            python = str(target / "bin" / "python")
            # cuda-python 12 and cuda-bindings 13 may be resolved together and overwrite each other's files.
            # Newer transformers decorate the forward methods of attention, which versions that set no bound then do not recognize.
            _run("uv", "pip", "install", "-q", "--python", python, f"vllm=={version}", "cuda-python>=13", TRANSFORMERS)
            _driver(target)
            (target / "ready").touch()
    return target


def _driver(target: Path) -> None:
    """A libcuda.so.1 in which every symbol that vLLM's libraries want is there and does nothing: they are loaded, never called."""
    libraries = [str(p) for p in target.glob("lib/python*/site-packages/vllm/**/*.so")]
    wanted = sorted(set(DRIVER_SYMBOL.findall(_run("nm", "-D", "--undefined-only", *libraries))))
    stub = target / "driver"
    stub.mkdir()
    (stub / "stub.c").write_text("".join(f"int {name}(void) {{ return 1; }}\n" for name in wanted), encoding="utf-8")
    _run("gcc", "-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-o", str(stub / "libcuda.so.1"), str(stub / "stub.c"))


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError as error:
        raise ToolError(f"{command[0]} is missing: the oracle needs uv, gcc and nm") from error
    except subprocess.CalledProcessError as error:
        raise ToolError(f"{' '.join(command[:4])} ... failed:\n{error.stderr[-2000:]}", code=1) from error
