"""What the supervisor checks in the engine's command before it starts it, and what it sets around it."""

from __future__ import annotations

import itertools
import os
import sys

from interlock.runtime.spec import Spec
from interlock.runtime.supervise.start import MARK
from interlock.runtime.words import RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MIDDLEWARE = "interlock.runtime.front.Front"
PLUGIN = "interlock"
MODULE = "vllm.entrypoints.openai.api_server"
FILE = MODULE.replace(".", "/") + ".py"
CLI = ("vllm.entrypoints.cli.main", "vllm.scripts")
"""Modules that take `serve` as their first argument."""
FIRST_WORDS = 40
"""Where the launcher is looked for: after env, numactl and the like."""
SHORT = {
    "-asc": "--api-server-count",
    "-dp": "--data-parallel-size",
    "-dpl": "--data-parallel-size-local",
    "-dpn": "--data-parallel-rank",
    "-dpr": "--data-parallel-start-rank",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpe": "--data-parallel-external-lb",
    "-dpm": "--data-parallel-multi-port-external-lb",
}


def checked(command: list[str], spec: Spec, environment: Mapping[str, str], path: Iterable[str] = ()) -> str:
    """Raises RefusedError when this engine could not be watched or drained, or is not the one of the plan.

    Returns what is to be said of its version, where that is not certain; else nothing.
    """
    if not command:
        raise RefusedError("no command: the container's args must be the engine's, as in `run -- vllm serve MODEL`")
    remark = _version(spec, installed(path or sys.path)) if spec.vllm else ""
    if is_module(command) or is_serve(command):
        _watched(command, environment)
    return remark


def _watched(command: list[str], environment: Mapping[str, str]) -> None:
    if environment.get("VLLM_USE_RUST_FRONTEND", "0").lower() not in ("", "0", "false"):
        raise RefusedError("VLLM_USE_RUST_FRONTEND is set: that server loads no middleware, so a drain would lose requests; unset it")
    if "--grpc" in names(command):
        raise RefusedError("--grpc serves without the middleware: nothing counts its requests, and a drain loses them; remove --grpc")
    if "--config" in names(command):
        return  # the rest may stand in that file
    if "--disable-log-stats" in names(command):
        from interlock.runtime.supervise import servers  # noqa: PLC0415 - only where it is asked

        servers.seen(command)
    if not follows(command) and MIDDLEWARE not in values(command, "--middleware"):
        raise RefusedError(f"--middleware {MIDDLEWARE} is missing in the engine's arguments: without it a drain loses requests; add it")


def is_serve(command: list[str]) -> bool:
    """Whether this is `vllm serve`, also behind a Python or another wrapper, or its module with `serve`."""
    words = [os.path.basename(word) for word in command[:FIRST_WORDS]]
    return any(following == "serve" and word in ("vllm", *CLI) for word, following in itertools.pairwise(words))


def is_module(command: list[str]) -> bool:
    """Whether this is vLLM's older launcher, `python -m vllm.entrypoints.openai.api_server` or its file: always one API server."""
    words = command[:FIRST_WORDS]
    return ("-m", MODULE) in itertools.pairwise(words) or any(word.endswith(FILE) for word in words)


def follows(command: list[str]) -> bool:
    """Whether this node has no API server: its leader serves and drains."""
    return "--headless" in names(command)


def names(command: list[str]) -> set[str]:
    """The options, without values, as vLLM reads them: underscores count as hyphens."""
    return {_name(word) for word in command if word.startswith("-")}


def _name(word: str) -> str:
    name = word.partition("=")[0].replace("_", "-")
    return SHORT.get(name, name)


def values(command: list[str], option: str) -> list[str]:
    """Every value that an option has, `--option VALUE` or `--option=VALUE`."""
    found = []
    for word, following in zip(command, [*command[1:], ""], strict=True):
        if word.startswith("-") and _name(word) == option:
            found.append(word.partition("=")[2] if "=" in word else following)
    return found


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


def _version(spec: Spec, there: str) -> str:
    if there.partition("+")[0] == spec.vllm.partition("+")[0]:  # the part after + names a build, not a version
        return ""
    from interlock.runtime.supervise import versions  # noqa: PLC0415 - only to word a difference

    return versions.compared(spec.vllm, there, spec.vllm_sure)


def around(environment: Mapping[str, str], spec: Spec, archive: str, mark: str) -> dict[str, str]:
    """The engine's environment: the archive first on its path, output unbuffered, our plugin among those that are allowed."""
    made = {**environment, "PYTHONUNBUFFERED": "1", "INTERLOCK_BOARD": spec.board, MARK: mark}
    if archive:
        made["PYTHONPATH"] = os.pathsep.join(filter(None, (archive, environment.get("PYTHONPATH"))))
    if "VLLM_PLUGINS" in environment:
        allowed = [name for name in environment["VLLM_PLUGINS"].split(",") if name]
        made["VLLM_PLUGINS"] = ",".join([*allowed, PLUGIN] if PLUGIN not in allowed else allowed)
    return made
