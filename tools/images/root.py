"""The root file system of the images: a small Debian, the environment's Python below /usr/local, and the stock image's user."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.common import ToolError, home, say

TABLE: dict[str, Any] = json.loads((Path(__file__).parent / "table.json").read_text())
#: What a running interpreter does not open.
PYTHON_DROP = ("test", "idlelib", "turtledemo", "ensurepip", "tkinter", "lib2to3", "site-packages", "config-*", "lib-dynload/_test*")
CHECK = "import bz2, ctypes, lzma, readline, sqlite3, ssl, zlib; print('whole')"


def ensure(python: Path, user: tuple[str, int, int, str]) -> Path:
    """The folder of the finished root; ``python`` is the environment's interpreter, ``user`` (name, user, group, home).

    Raises ToolError without debootstrap (code 2), or when Debian or the copied Python does not work (code 1).
    """
    at = folder(python, user)
    if at.exists():
        return at
    prefix = _prefix(python)
    debian = _debian()
    part = at.with_name(f".{at.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    subprocess.run(["cp", "-a", str(debian), str(part)], check=True)
    _copy_python(prefix, part / "usr" / "local")
    _add_user(part, *user)
    subprocess.run(["ldconfig", "-r", str(part)], check=True, capture_output=True)
    said = subprocess.run(["chroot", str(part), "python3", "-c", CHECK], capture_output=True, text=True, check=False)
    if said.returncode:
        raise ToolError(f"the Python of {prefix} does not work in a Debian {TABLE['suite']} root: {said.stderr.strip()[-400:]}", 1)
    part.rename(at)
    return at


def folder(python: Path, user: tuple[str, int, int, str]) -> Path:
    """Where the finished root lies or will lie."""
    version = _output([str(python), "-c", "import platform; print(platform.python_version())"])
    key = hashlib.sha256(repr((TABLE, str(_prefix(python)), version, user, PYTHON_DROP, CHECK)).encode()).hexdigest()[:12]
    return home() / "images" / f"root-{key}"


def _prefix(python: Path) -> Path:
    return Path(_output([str(python), "-c", "import sys; print(sys.base_prefix)"]))


def _debian() -> Path:
    key = hashlib.sha256(repr([TABLE["suite"], TABLE["packages"]]).encode()).hexdigest()[:12]
    folder = home() / "images" / f"debian-{key}"
    if folder.exists():
        return folder
    if shutil.which("debootstrap") is None:
        raise ToolError("no debootstrap on PATH, which makes the root of the images: install the package debootstrap")
    say(f"image root: debootstrap {TABLE['suite']}; about 2 min")
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    packages = ",".join(TABLE["packages"])
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", TABLE["suite"], str(part)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(f"  {line}" for line in (done.stdout + done.stderr).strip().splitlines()[-5:])
        raise ToolError(f"debootstrap ended with {done.returncode}; a network or a Debian mirror may be missing.\n{last}", 1)
    for pattern in TABLE["drop"]:
        for path in part.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    part.rename(folder)
    return folder


def _copy_python(prefix: Path, target: Path) -> None:
    libraries = [path for path in (prefix / "lib").iterdir() if path.name.startswith(("python3", "libpython3")) and path.suffix != ".a"]
    (target / "lib").mkdir(parents=True, exist_ok=True)
    for path in libraries:
        if path.is_dir():
            shutil.copytree(path, target / "lib" / path.name, symlinks=True, ignore=shutil.ignore_patterns(*PYTHON_DROP))
            (target / "lib" / path.name / "site-packages").mkdir()
        else:
            shutil.copy2(path, target / "lib" / path.name, follow_symlinks=False)
    binary = next(path for path in sorted((prefix / "bin").glob("python3.*")) if path.name.removeprefix("python3.").isdigit())
    shutil.copy2(binary, target / "bin" / binary.name)
    for name in ("python3", "python"):
        (target / "bin" / name).symlink_to(binary.name)


def _add_user(root: Path, name: str, uid: int, gid: int, folder: str) -> None:
    with (root / "etc" / "passwd").open("a") as passwd:
        passwd.write(f"{name}:x:{uid}:{gid}:{name}:{folder}:/bin/bash\n")
    (root / folder.lstrip("/") / ".cache").mkdir(parents=True)
    for path in (root / folder.lstrip("/"), root / folder.lstrip("/") / ".cache"):
        path.chmod(0o775)


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
