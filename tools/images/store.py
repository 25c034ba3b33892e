"""A containerd root that holds the images, imported and unpacked: made once per content, taken over by each node with hard links."""

import contextlib
import hashlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from interlock.infra.catalog.image_contract import image_contract
from interlock.infra.catalog.tracks import tracks
from tools.common import ToolError, home, locked, say
from tools.engine_env import env
from tools.images import archive, root

NEEDED_BYTES = 16 * 10**9
PATIENCE_SECONDS = 60.0
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Raised when the same parts are put together in another way.
LAYOUT = 1
CONFIG = """version = 3
root = "{folder}/root"
state = "/run/containerd-import"
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "io.containerd.nri.v1.nri"]
[grpc]
  address = "{folder}/containerd.sock"
"""


def engine_image() -> str:
    """The name of the cpu track's image."""
    return tracks()["cpu"].reference


def ensure(bin_folder: Path) -> Path:
    """The finished containerd root; ``bin_folder`` holds containerd, ctr and pause.

    Raises ToolError when a part is missing (code 2) or the import fails (code 1).
    """
    environment, base = env.ensure(), base_root()
    with locked(home() / "images" / ".lock", "waiting for another build of the images to end ..."):
        folder = _folder(bin_folder, base, environment)
        if not folder.exists():
            env.require_disk(home(), NEEDED_BYTES, "the images")
            _build(folder, bin_folder, base, environment)
    return folder


def base_root() -> Path:
    """The root file system under the images, made when it is not there: it needs no program of ours. Raises ToolError."""
    environment = env.ensure()
    with locked(home() / "images" / ".lock", "waiting for another build of the images to end ..."):
        return root.ensure(env.python_of(environment), _user())


def ready(bin_folder: Path) -> bool:
    """Whether ``ensure`` would find everything built."""
    environment = env.folder()
    if not env.whole(environment):
        return False
    base = root.folder(env.python_of(environment), _user())
    return base.exists() and _folder(bin_folder, base, environment).exists()


def _user() -> tuple[str, int, int, str]:
    user = image_contract().user.value
    return user.name, user.uid, user.gid, user.home


def _folder(bin_folder: Path, base: Path, environment: Path) -> Path:
    return home() / "images" / f"store-{_fingerprint(bin_folder, base, environment)}"


def clone(store: Path, target: Path) -> None:
    """Makes ``target`` a containerd root with the same images. Files are shared by hard links; containerd never writes to an unpacked
    layer, and its databases are copied."""
    done = subprocess.run(["cp", "-al", str(store), str(target)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"{target}: the images were not taken over: {done.stderr.strip()[-300:]}", 1)
    for database in target.rglob("*.db"):
        copy = database.with_suffix(".copy")
        shutil.copy2(database, copy)
        copy.replace(database)


def images(bin_folder: Path, base: Path, environment: Path) -> tuple[dict[str, tuple[archive.Part, ...]], tuple[archive.Image, ...]]:
    """Layers and images: pause, the bare Python, the engine."""
    contract = image_contract()
    site = env.site_packages(environment)
    packages = "usr/local/lib/" + str(site.relative_to(environment / "lib"))
    skip = ("proc/", "sys/", "dev/", "debootstrap/")
    layers = {
        "pause": (archive.Part((bin_folder / "pause").resolve(), "pause"),),
        "root": (archive.Part(base, "", lambda path: not path.startswith(skip)),),
        "engine": (archive.Part(site, packages), archive.Part(_launcher(environment), "usr/local/bin/vllm")),
    }
    python = {"Env": [PATH], "WorkingDir": "/"}
    engine = {"Env": [PATH], "WorkingDir": contract.workdir.value, "Entrypoint": list(contract.entrypoint.value)}
    return layers, (
        archive.Image(root.TABLE["pause"], ("pause",), {"Entrypoint": ["/pause"]}),
        archive.Image(root.TABLE["python"], ("root",), python),
        archive.Image(engine_image(), ("root", "engine"), engine),
    )


def _launcher(environment: Path) -> Path:
    """The engine's own ``vllm`` command with the image's interpreter in its first line."""
    launcher = environment / "vllm-launcher"
    lines = (environment / "bin" / "vllm").read_text().splitlines(keepends=True)
    launcher.write_text("#!/usr/local/bin/python3\n" + "".join(lines[1:]))
    launcher.chmod(0o755)
    return launcher


def _build(folder: Path, bin_folder: Path, base: Path, environment: Path) -> None:
    started = time.monotonic()
    say(f"images {folder.name}: packing and unpacking; about 3 min")
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    _, uid, gid, home_of_user = _user()
    owners = {home_of_user.lstrip("/"): (uid, gid)}
    layers, wanted = images(bin_folder, base, environment)
    archive.write(part / "images.tar", layers, wanted, owners)
    say(f"images {folder.name}: packed after {time.monotonic() - started:.0f} s")
    with _containerd(bin_folder, part) as ctr:
        _checked([*ctr, "images", "import", str(part / "images.tar")])
        (part / "images.tar").unlink()
        listed = _checked([*ctr, "images", "ls", "-q"]).split()
    missing = [image.name for image in wanted if image.name not in listed]
    if missing:
        raise ToolError(f"containerd did not import {', '.join(missing)}; it has {', '.join(listed) or 'nothing'}", 1)
    (part / "root").rename(folder)
    shutil.rmtree(part)
    for old in folder.parent.glob("store-*"):
        # Nodes that run on an older one hold its files by links of their own.
        if old != folder:
            shutil.rmtree(old)
    say(f"images {folder.name}: done after {time.monotonic() - started:.0f} s")


@contextlib.contextmanager
def _containerd(bin_folder: Path, part: Path) -> Iterator[list[str]]:
    """A containerd on ``part`` whose mounts and run folder vanish with it; gives the command prefix of its client."""
    (part / "config.toml").write_text(CONFIG.format(folder=part))
    (part / "root").mkdir()
    inside = f'mount -t tmpfs tmpfs /run && exec "{bin_folder}/containerd" --config "{part}/config.toml"'
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", inside]
    ctr = [str(bin_folder / "ctr"), "--address", str(part / "containerd.sock"), "--namespace", "k8s.io"]
    with (part / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while subprocess.run([*ctr, "version"], capture_output=True, check=False).returncode:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise ToolError(f"containerd did not start.\n{(part / 'log').read_text(errors='replace')[-800:]}", 1)
                time.sleep(0.2)
            yield ctr
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _checked(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"`{' '.join(command[-3:])}` failed: {done.stderr.strip()[-400:]}", 1)
    return done.stdout


def _fingerprint(bin_folder: Path, base: Path, environment: Path) -> str:
    parts = [
        LAYOUT,
        base.name,
        environment.name,
        engine_image(),
        root.TABLE["pause"],
        root.TABLE["python"],
        image_contract().model_dump_json(),
    ]
    return hashlib.sha256(repr(parts).encode() + (bin_folder / "pause").read_bytes()).hexdigest()[:12]
