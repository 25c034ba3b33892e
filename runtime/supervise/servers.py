"""How many API servers a command starts. Apart from command.py: only rare arguments ask for it, and the start waits for what it reads."""

from __future__ import annotations

from interlock.runtime.supervise.command import follows, is_module, names, values
from interlock.runtime.words import RefusedError

ALONE = frozenset({"--data-parallel-external-lb", "--data-parallel-rank", "--data-parallel-multi-port-external-lb"})
"""With these one API server is the default, with the next ones one for each rank of this node (vllm/entrypoints/cli/serve.py)."""
HYBRID = frozenset({"--data-parallel-hybrid-lb", "--data-parallel-start-rank"})


def seen(command: list[str]) -> None:
    """Raises RefusedError where `--disable-log-stats` would hide a hang."""
    servers = api_servers(command)
    if servers > 1:
        raise RefusedError(
            f"--disable-log-stats with {servers} API servers: no step is reported, and a hang would not be seen; remove --disable-log-stats"
            " or keep one (--api-server-count 1)"
        )


def api_servers(command: list[str]) -> int:
    """API server processes: what is stated, else vLLM's default (since 0.15 one for each data-parallel rank)."""
    given, stated = names(command), number(command, "--api-server-count")
    if is_module(command) or "--enable-elastic-ep" in given:
        return 1
    if stated is not None:
        return stated
    if follows(command):
        return 0
    if given & ALONE:
        return 1
    return number(command, "--data-parallel-size-local" if given & HYBRID else "--data-parallel-size") or 1


def number(command: list[str], option: str) -> int | None:
    """The last value of an option as a number; None when it has none."""
    given = values(command, option)
    return int(given[-1]) if given and given[-1].isdigit() else None
