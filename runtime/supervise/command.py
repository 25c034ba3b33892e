"""What the supervisor checks in the engine's command before it starts it, and what it sets around it."""

import itertools
import os
import sys
from collections.abc import Iterable, Mapping

from interlock.runtime.spec import Spec
from interlock.runtime.supervise.start import MARK
from interlock.runtime.words import RefusedError

MIDDLEWARE = "interlock.runtime.front.Front"
PLUGIN = "interlock"


def checked(command: list[str], spec: Spec, environment: Mapping[str, str], path: Iterable[str] = ()) -> None:
    """Raises RefusedError when this engine could not be watched or drained, or is not the one of the plan."""
    if not command:
        raise RefusedError("no command: the container's args must be the engine's, as in `run -- vllm serve MODEL`")
    if spec.vllm:
        _version(spec.vllm, installed(path or sys.path))
    if not is_serve(command):
        return
    if environment.get("VLLM_USE_RUST_FRONTEND", "0").lower() not in ("", "0", "false"):
        raise RefusedError("VLLM_USE_RUST_FRONTEND is set: that server loads no middleware, so a drain would lose requests; unset it")
    if "--config" in names(command):
        return  # the rest may stand in that file
    servers = number(command, "--api-server-count") or 1
    if "--disable-log-stats" in names(command) and servers > 1:
        raise RefusedError(
            f"--disable-log-stats with --api-server-count {servers}: no step is reported, a hang would not be seen; remove one of them"
        )
    if not follows(command) and MIDDLEWARE not in values(command, "--middleware"):
        raise RefusedError(f"--middleware {MIDDLEWARE} is missing in the engine's arguments: without it a drain loses requests; add it")


def is_serve(command: list[str]) -> bool:
    """Whether this is `vllm serve`, also behind a Python."""
    words = [os.path.basename(word) for word in command[:4]]
    return ("vllm", "serve") in itertools.pairwise(words)


def follows(command: list[str]) -> bool:
    """Whether this node has no API server: its leader serves and drains."""
    return "--headless" in names(command)


def names(command: list[str]) -> set[str]:
    """The options, without values, as vLLM reads them: underscores count as hyphens."""
    return {_name(word) for word in command if word.startswith("--")}


def _name(word: str) -> str:
    return word.partition("=")[0].replace("_", "-")


def values(command: list[str], option: str) -> list[str]:
    """Every value that an option has, `--option VALUE` or `--option=VALUE`."""
    found = []
    for word, following in zip(command, [*command[1:], ""], strict=True):
        if word.startswith("--") and _name(word) == option:
            found.append(word.partition("=")[2] if "=" in word else following)
    return found


def number(command: list[str], option: str) -> int | None:
    """The last value of an option as a number; None when it has none."""
    given = values(command, option)
    return int(given[-1]) if given and given[-1].isdigit() else None


def installed(path: Iterable[str]) -> str:
    """The version of vLLM on the path, from the name of its metadata folder (reading the metadata takes ten times as long); else empty."""
    for folder in path:
        try:
            found = [name for name in os.listdir(folder or ".") if name.startswith("vllm-") and name.endswith(".dist-info")]
        except OSError:
            continue
        if found:
            return found[0].removeprefix("vllm-").removesuffix(".dist-info")
    return ""


def _version(planned: str, there: str) -> None:
    if not there:
        raise RefusedError(f"the plan is for vLLM {planned}, and this image's Python has no vLLM: {sys.executable}")
    if there.partition("+")[0] != planned.partition("+")[0]:  # the part after + names a build, not a version
        raise RefusedError(f"the plan is for vLLM {planned}, but the image has {there}: change the image or the planned version")


def around(environment: Mapping[str, str], spec: Spec, archive: str, mark: str) -> dict[str, str]:
    """The engine's environment: the archive first on its path, output unbuffered, our plugin among those that are allowed."""
    made = {**environment, "PYTHONUNBUFFERED": "1", "INTERLOCK_BOARD": spec.board, MARK: mark}
    if archive:
        made["PYTHONPATH"] = os.pathsep.join(filter(None, (archive, environment.get("PYTHONPATH"))))
    if "VLLM_PLUGINS" in environment:
        allowed = [name for name in environment["VLLM_PLUGINS"].split(",") if name]
        made["VLLM_PLUGINS"] = ",".join([*allowed, PLUGIN] if PLUGIN not in allowed else allowed)
    return made
