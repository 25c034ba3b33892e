"""Says what of the toolchain is there, what is missing, and what `make up` and `make test` would do about it.

usage: python -m tools.doctor [SET ...]
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tools.build import Decision, decide
from tools.cluster import lifecycle, network
from tools.cluster.state import everything, load
from tools.common import home, run_main, say
from tools.toolchain_families import read_table, select

GO = "1.26"
NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table; ``missing`` when something has to be done by a person."""

    name: str
    found: str
    then: str
    missing: bool = False


def requirements(builds: bool) -> list[Line]:
    """What a person has to install: each with what it is for. Go counts as missing only when something must be built."""
    return [
        Line("Linux", platform.system(), "", platform.system() != "Linux"),
        Line("Python 3.11+", platform.python_version(), "", sys.version_info < (3, 11)),
        _program("uv", "makes the Python environment", "every `make` command fetches it into .local", needed=False),
        go(builds),
        _program("openssl", "makes the cluster's certificates", "the package openssl"),
        _program("kubectl", "talks to the cluster", "uv sync"),
        Line(
            "network namespace",
            "yes" if network.can_isolate() else "no",
            "pod and service addresses reachable inside it"
            if network.can_isolate()
            else "the cluster listens on loopback, pod addresses are not reachable (needs root, iproute2 and util-linux)",
        ),
    ]


def go(needed: bool) -> Line:
    """The row of Go, whose version must be new enough when something has to be built."""
    row = _program("go", "builds what is not on PATH", f"https://go.dev/dl, {GO} or newer", needed=needed)
    if row.found == NOT_FOUND:
        return row
    printed = subprocess.run(["go", "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"go(\d+)\.(\d+)", printed)
    if found and (int(found[1]), int(found[2])) >= tuple(map(int, GO.split("."))):
        return row
    return Line("go", printed.strip() or row.found, f"it is older than {GO}: https://go.dev/dl", missing=needed)


def _program(name: str, purpose: str, source: str, needed: bool = True) -> Line:
    at = shutil.which(name)
    return Line(name, at or NOT_FOUND, purpose if at else f"{purpose}: {source}", missing=needed and at is None)


def toolchain(decisions: list[Decision]) -> list[Line]:
    """One row per program family."""
    rows = []
    for decision in decisions:
        family = decision.family
        if decision.use:
            first = next(iter(decision.use.values()))
            found, then = f"{first.version} on PATH", f"use {first.path}"
        elif decision.because:
            found, then = decision.because, "nothing"
        elif decision.ready:
            found, then = "built", f"use {family.folder}"
        else:
            found, then = "not built", f"build it: about {family.minutes:g} min on two cores"
        rows.append(Line(f"{family.name} {family.version}", found, then))
    return rows


def debian(decisions: list[Decision]) -> list[Line]:
    """The Debian packages that the families need at run time."""
    wanted = sorted({package for decision in decisions for package in decision.family.debian})
    rows = []
    for package in wanted:
        done = (
            subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
            if shutil.which("dpkg-query")
            else None
        )
        version = done.stdout if done and done.returncode == 0 else ""
        rows.append(Line(package, version or "not installed", "" if version else f"apt-get install {package}", missing=not version))
    return rows


def clusters() -> list[Line]:
    """One row per local cluster."""
    rows = []
    for name in everything():
        cluster = load(name)
        dead = lifecycle.what_is_dead(cluster) if cluster else ["everything"]
        rows.append(
            Line(name, f"dead: {', '.join(dead)}" if dead else "works", "`make up` replaces it" if dead else f"context interlock-{name}")
        )
    return rows


def show(title: str, rows: list[Line]) -> None:
    if not rows:
        return
    say(f"\n{title}")
    width, found = (max(len(pick(row)) for row in rows) for pick in _COLUMNS)
    for row in rows:
        mark = "!" if row.missing else " "
        say(f" {mark} {row.name:<{width}}  {row.found:<{found}}  {row.then}".rstrip())


_COLUMNS: tuple[Callable[[Line], str], ...] = (lambda row: row.name, lambda row: row.found)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.doctor", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"which programs: {', '.join(read_table()[1])} (up and test)")
    options = parser.parse_args(arguments)
    chosen = options.sets or ["up", "test"]
    decisions = decide(select([], chosen))
    builds = [decision for decision in decisions if decision.must_build]
    needed = requirements(bool(builds))
    show("required", needed)
    show(f"programs for {', '.join(chosen)}", toolchain(decisions))
    packages = debian(decisions)
    show("Debian packages", packages)
    show("local clusters", clusters())
    missing = [row.name for row in [*needed, *packages] if row.missing]
    minutes = sum(decision.family.minutes for decision in builds)
    say()
    say(f"kept in {home()} (INTERLOCK_HOME)")
    say(
        f"to build: {len(builds)} of {len(decisions)}"
        + (f", about {minutes:.0f} min on two cores (this machine has {os.cpu_count()})" if builds else "")
    )
    say(f"missing: {', '.join(missing)}" if missing else "nothing is missing")
    return 1 if missing else 0


if __name__ == "__main__":
    run_main(main)
