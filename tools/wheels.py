"""The Python files of a wheel, fetched from the package registry and read without being installed."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

from tools.common import ToolError

PLATFORMS = (*(f"{each}_x86_64" for each in ("manylinux1", "manylinux2014", *(f"manylinux_2_{n}" for n in range(17, 41)))), "any")


def python_files(package: str, version: str, target: Path) -> Path:
    """``target`` with the wheel's Python files, fetched where it is not there. Raises ToolError."""
    if not target.is_dir():
        parked = target.with_name(f".{version}")
        shutil.rmtree(parked, ignore_errors=True)
        platforms = [word for each in PLATFORMS for word in ("--platform", each)]
        _pip("download", "-q", "--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--python-version", "3.12", *platforms,
             "-d", str(parked), f"{package}=={version}")  # fmt: skip
        for wheel in parked.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(parked / "tree", [name for name in archive.namelist() if name.endswith(".py")])
        # Only what is whole gets the name by which it is found.
        (parked / "tree").rename(target)
        shutil.rmtree(parked)
    return target


def _pip(*arguments: str) -> None:
    python, command = os.environ.get("PIP_PYTHON"), ("pip", *arguments)
    try:
        # The environment of this project has no pip: uv brings one.
        subprocess.run([*([python, "-m"] if python else ["uv", "tool", "run"]), *command], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ToolError(f"{python or 'uv'} is missing, which gets {command[-1]}") from error
    except subprocess.CalledProcessError as error:
        raise ToolError(
            f"{' '.join(command[:2])} failed (PIP_PYTHON names a Python that has pip): {error.stderr[-800:]}", code=1
        ) from error
