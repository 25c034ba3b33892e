"""Rendered stacks as reviewed YAML: written with --write, compared with the last commit with --diff (``make diff``)."""

import argparse
import difflib
import re
import subprocess
import sys
from pathlib import Path

from tools.common import ROOT, run_main

FOLDER = Path("tests/golden/rendered")
ARCHIVE = re.compile(r"^( +interlock-runtime\.pyz:) \S+$", re.MULTILINE)
"""The archive's bytes, which nobody reviews: its name tells when they change."""


def stacks() -> list[str]:
    """Names of the repository's stacks."""
    return sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in ROOT.glob("Pulumi.*.yaml"))


def reviewed() -> dict[str, list[str]]:
    """What is rendered, by name: the repository's stacks, and the examples of replicas on several nodes and in Ray."""
    examples = sorted(path for folder in ("multi-node", "ray") for path in (ROOT / "examples" / folder).glob("*.yaml"))
    return {name: ["--stack", name] for name in stacks()} | {path.stem: ["--file", str(path.relative_to(ROOT))] for path in examples}


def current(stack: str) -> str:
    """The objects of ``stack`` as ``interlock render`` prints them but for the archive, or its refusal as a comment."""
    command = [sys.executable, "-m", "interlock.cli.main", "render", *reviewed()[stack]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return shown(done.returncode, done.stdout, done.stderr)


def shown(code: int, stdout: str, stderr: str) -> str:
    """What is reviewed of what ``interlock render`` printed."""
    return "".join(f"# {line}\n" for line in stderr.splitlines()) if code else ARCHIVE.sub(r"\1 (left out)", stdout)


def committed(stack: str) -> str:
    """The same as of the last commit; empty for a new stack."""
    done = subprocess.run(["git", "show", f"HEAD:{FOLDER}/{stack}.yaml"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def difference(stack: str) -> str:
    """What a deployment of the working tree changes against the last commit, as a unified diff."""
    before, after = committed(stack).splitlines(keepends=True), current(stack).splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"{stack} (last commit)", f"{stack} (now)", n=6))


def main(arguments: list[str]) -> int:
    """0 = done; ``--diff`` prints the difference and also ends with 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write tests/golden/rendered")
    parser.add_argument("--diff", action="store_true", help="show the difference against the last commit")
    chosen = parser.parse_args(arguments)
    for stack in reviewed():
        if chosen.write:
            (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
            (ROOT / FOLDER / f"{stack}.yaml").write_text(current(stack), "utf-8")
        if chosen.diff:
            print(difference(stack) or f"{stack}: no difference against the last commit")
    return 0


if __name__ == "__main__":
    run_main(main)
