"""`make test`: builds the tools, runs the linters, then every tier of tests in one pytest run whose summary ends the output.

usage: python -m tools.check [--fast | --lint] [PYTEST ARGUMENTS]

A step that fails does not stop those after it: one run says everything that is wrong. Tests that share the local control plane run
in turn on one of the two workers, while the other works on the rest (tests/conftest.py).
"""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tools import build, toolchain_families
from tools.common import ROOT, ToolError, run_main, say
from tools.node import prepare
from tools.parsers import asking
from tools.ray_env import env

PYTHON = [sys.executable, "-m"]
LINTERS = {
    "ruff check": [*PYTHON, "ruff", "check", "."],
    "ruff format": [*PYTHON, "ruff", "format", "--check", "."],
    "mypy": [*PYTHON, "mypy", "interlock", "tests", "tools", "--exclude", "tools/toolchain/"],
    "import contracts": ["lint-imports"],
}
NO_TESTS_COLLECTED = 5
NEEDS_TOOLS = ("cluster", "engine", "gpu")


def build_tools() -> list[str]:
    """Builds what the cluster and engine tiers need; returns what failed, so that the other tiers still run."""
    failed = []
    with ThreadPoolExecutor(1) as beside:
        beside.submit(prepare.fetch)
        beside.submit(fetch_parsers)
        beside.submit(prepare_ray)
        for name, step in (("build", lambda: build.ensure(toolchain_families.select([], ["test", "mig"]))), ("real node", prepare_node)):
            try:
                step()
            except ToolError as error:
                say(f"error: {error}")
                failed.append(name)
    return failed


def fetch_parsers() -> None:
    """Gets vLLM's argument parsers of several versions, or says why their test is skipped."""
    try:
        asking.fetch()
    except ToolError as error:
        say(f"the test of vLLM's parsers is skipped: {error}")


def prepare_ray() -> None:
    """Installs the real Ray, or says why the tests on it are skipped."""
    try:
        env.ensure()
    except ToolError as error:
        say(f"the tests on Ray are skipped: {error}")


def prepare_node() -> None:
    """Makes the real node ready, or says why this machine skips the tests on it."""
    reason = prepare.prepare()
    if reason:
        say(f"the tests on a real node are skipped: {reason}")


def lint() -> list[str]:
    """Runs the linters and returns the names of those that found something."""
    failed = []
    for name, command in LINTERS.items():
        started = time.monotonic()
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        say(f"lint: {name}: {'failed' if code else 'clean'} ({time.monotonic() - started:.0f} s)")
        failed += [name] if code else []
    return failed


def tests(fast: bool, arguments: list[str]) -> list[str]:
    """Runs pytest on two workers; an empty selection is no failure."""
    ignored = [f"--ignore=tests/{tier}" for tier in NEEDS_TOOLS] if fast else []
    code = subprocess.run([*PYTHON, "pytest", "-n", "2", *ignored, *arguments], cwd=ROOT, check=False).returncode
    return [] if code in (0, NO_TESTS_COLLECTED) else ["tests"]


def main(arguments: list[str]) -> int:
    fast, only_lint = "--fast" in arguments, "--lint" in arguments
    rest = [argument for argument in arguments if argument not in ("--fast", "--lint")]
    failed = [] if fast or only_lint else build_tools()
    failed += lint()
    if failed:
        say(f"failed before the tests: {', '.join(failed)}")
    if not only_lint:
        failed += tests(fast, rest)
    return 1 if failed else 0


if __name__ == "__main__":
    run_main(main)
