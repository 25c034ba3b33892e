"""Finds or builds the programs that the local control plane and the tests need.

usage: python -m tools.build [--for up|test|node|operators|gateways|mig|sdks] [NAMES]

A tool of a fitting version on PATH is used as it is. Everything else is built from its Go module into a folder that is named by
version and content, and that appears only when it is whole: an interrupted build is taken up again from Go's own cache.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.common import ToolError, home, locked, run_main, say
from tools.toolchain_families import Family, Installed, installed, select

PROGRESS_SECONDS = 30
NO_DEBUG_DATA = ["-gcflags=all=-dwarf=false"]
"""The linker drops debug data anyway (-s -w); not making them takes a sixth off the compiler's time. The program stays the same."""
LAST_LINES = 15


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens with one family: ``use`` programs on PATH, nothing (``ready``, or ``because`` another brings it), or a build."""

    family: Family
    use: dict[str, Installed]
    ready: bool
    because: str

    @property
    def must_build(self) -> bool:
        """Whether this family has to be built."""
        return not (self.use or self.ready or self.because)


def decide(families: Sequence[Family]) -> list[Decision]:
    """For each family: the installed programs, our finished build, or the need to build it."""
    used = {family.name: installed(family) for family in families}
    decisions = []
    for family in families:
        brought = f"comes with the installed {family.comes_with}" if used.get(family.comes_with) else ""
        decisions.append(Decision(family, used[family.name], (family.folder / "built.json").exists(), brought))
    return decisions


def ensure(families: Sequence[Family]) -> Path:
    """Builds what is missing and returns a folder with a link to every program, to be put on PATH.

    Raises ToolError when there is no Go to build with (code 2) or a build fails (code 1).
    """
    missing = [decision.family for decision in decide(families) if decision.must_build]
    if missing:
        require_go(missing)
        with locked(home() / "tools" / ".lock", "waiting for another build to end ..."):
            missing = [decision.family for decision in decide(families) if decision.must_build]
            for number, family in enumerate(missing, 1):
                build(family, f"[{number}/{len(missing)}] {family.name} {family.version}")
    return link(decide(families))


def require_go(missing: Sequence[Family]) -> None:
    """Raises ToolError when there is no Go: the one message that a machine without it gets."""
    if shutil.which("go") is None:
        names = ", ".join(f"{family.name} {family.version}" for family in missing)
        raise ToolError(
            f"no Go on PATH, and these have to be built: {names}. "
            "Install Go 1.26 or newer (https://go.dev/dl), or put fitting versions of these tools on PATH; `make doctor` lists both."
        )


def build(family: Family, title: str) -> None:
    """Builds one family in a work copy and moves the finished programs into place in one step."""
    work = home() / "work" / family.folder.name
    staging = family.folder.with_name(f".{family.folder.name}.part")
    log = home() / "logs" / f"build-{family.folder.name}.log"
    for folder in (work, staging):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(family.module, work, ignore=shutil.ignore_patterns("gen", "__pycache__"))
    staging.mkdir(parents=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    commands = [[sys.executable, "prepare.py", family.version]] if (work / "prepare.py").exists() else []
    flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", *NO_DEBUG_DATA, "-tags", ",".join(family.tags), "-ldflags", family.ldflags]
    compiler = ["env", "CGO_ENABLED=1"] if family.cgo else []
    commands += [[*compiler, "go", "build", *flags, "-o", str(staging / name), package] for name, package in family.binaries.items()]
    started = time.monotonic()
    say(f"{title}: building {', '.join(family.binaries)}; about {family.minutes:g} min on two cores when nothing is cached")
    with log.open("w") as output:
        for command in commands:
            code = _run(command, work, output.fileno(), title, started)
            if code:
                raise ToolError(
                    f"{family.name} {family.version} was not built: {' '.join(command[:2])} ended with {code}.\n{_end_of(log)}", 1
                )
    for script in family.scripts:
        shutil.copy2(work / script, staging)
    record = {
        "family": family.name,
        "version": family.version,
        "seconds": round(time.monotonic() - started),
        "binaries": list(family.binaries),
    }
    (staging / "built.json").write_text(json.dumps(record, indent=1))
    shutil.rmtree(family.folder, ignore_errors=True)
    staging.rename(family.folder)
    shutil.rmtree(work, ignore_errors=True)
    say(f"{title}: done after {record['seconds']} s")


def link(decisions: Sequence[Decision]) -> Path:
    """A folder of links to all programs of ``decisions``, named by what they are, so that two checkouts do not disturb each other."""
    targets = {}
    # The host of another language looks for the one of a component package on PATH, not beside the CLI.
    foreign = any(binary.startswith("pulumi-language-") for decision in decisions for binary in decision.family.binaries)
    for decision in decisions:
        if decision.because:
            continue
        for binary in decision.family.binaries:
            targets[binary] = decision.use[binary].path if decision.use else decision.family.folder / binary
        if not decision.use and foreign:
            targets |= {script: decision.family.folder / script for script in decision.family.scripts}
    key = hashlib.sha256(repr(sorted(targets.items())).encode()).hexdigest()[:16]
    folder = home() / "path" / key
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in targets.items():
        at = folder / name
        if not (at.is_symlink() and at.readlink() == target):
            spare = folder / f".{name}.{os.getpid()}"
            spare.symlink_to(target)
            spare.replace(at)
    return folder


def _run(command: list[str], work: Path, output: int, title: str, started: float) -> int:
    environment = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    making = Path(command[command.index("-o") + 1]).name if "-o" in command else "preparing"
    process = subprocess.Popen(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        while True:
            try:
                return process.wait(timeout=PROGRESS_SECONDS)
            except subprocess.TimeoutExpired:
                say(f"{title}: {time.monotonic() - started:.0f} s, {making}")
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _end_of(log: Path) -> str:
    with log.open(errors="replace") as lines:
        last = "".join(f"  {line}" for line in deque(lines, LAST_LINES))
    return f"Its last lines:\n{last}  (all of it: {log})"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.build", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="program families of tools/toolchain/families.json")
    parser.add_argument("--for", dest="sets", action="append", default=[], metavar="SET", help="a set of families: up, test, node, ...")
    options = parser.parse_args(arguments)
    if not (options.names or options.sets):
        parser.error("nothing to build: give names or --for SET")
    say(str(ensure(select(options.names, options.sets))))
    return 0


if __name__ == "__main__":
    run_main(main)
