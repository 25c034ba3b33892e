"""Folders that the engine writes to, and the user that it runs as."""

import os
import tempfile
from collections.abc import Iterable, Iterator

from interlock.runtime.preflight import hub
from interlock.runtime.preflight.look import Result, World, fine, problem

WRITABLE, USER = "writable", "user"
HUB = "HF_HOME"
VARIABLES = ("HOME", HUB, "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR")
NEEDED_BYTES = 1 << 20


def look(planned: Iterable[str], world: World) -> Iterator[Result]:
    """The planned folders, and those that the environment names. Offline, the hub's client only reads a cache that is complete."""
    named = [name for name in VARIABLES if world.environment.get(name) and not (name == HUB and hub.offline(world))]
    folders = dict.fromkeys([*planned, *(world.environment[name] for name in named)])
    for path in folders:
        yield _one(path, world)


def _one(path: str, world: World) -> Result:
    at = world.at(path)
    try:
        at.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=at) as file:
            file.write(bytes(NEEDED_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return problem(WRITABLE, f"{path} cannot be written: {error.strerror} (user {os.geteuid()}); mount a volume there")
    return fine(WRITABLE, f"{path} can be written")


def user(world: World) -> Result:
    """Whether the user has a name: without one a look-up in torch ends the engine."""
    import pwd  # noqa: PLC0415 - not on every system

    given = next((name for name in ("LOGNAME", "USER", "LNAME", "USERNAME") if world.environment.get(name)), "")
    if given:
        return fine(USER, f"{given} names the user")
    try:
        return fine(USER, f"user {os.geteuid()} is {pwd.getpwuid(os.geteuid()).pw_name}")
    except KeyError:
        return problem(
            USER, f"user {os.geteuid()} has no name in this image and USER is not set: set USER and HOME, or run as its own user"
        )
