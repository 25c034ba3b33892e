"""Pulumi projects to measure: on a local control plane of their own, timed from outside."""

import copy
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tools import build, toolchain_families
from tools.cluster import extensions, lifecycle
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject
from tools.common import ROOT, ToolError


def stack_config(stack: str) -> dict[str, Any]:
    """The config of a stack of this repository."""
    found: dict[str, Any] = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text("utf-8"))["config"]["interlock:cluster"]
    return found


def of_size(config: dict[str, Any], servers: int) -> dict[str, Any]:
    """``config`` with ``servers`` copies of its first server, and two nodes for each: one is for the new pod of a rollout."""
    made = copy.deepcopy(config)
    made["pools"][0]["nodes"] = 2 * servers
    made["servers"] = [made["servers"][0] | {"name": f"chat-{number}"} for number in range(servers)]
    return made


@contextmanager
def control_plane(name: str) -> Iterator[LocalCluster]:
    """A local control plane with Gateway API and KEDA, removed at the end."""
    folder = build.ensure(toolchain_families.select([], ["test"]))
    try:
        started, _ = lifecycle.up(name, folder)
        extensions.install(started, folder)
        yield LocalCluster(started, folder)
    finally:
        lifecycle.down(name)


def project(
    cluster: LocalCluster, files: Mapping[str, str], stack: str = "bench", config: Mapping[str, Any] | None = None
) -> PulumiProject:
    """A Python project of ``files`` with its stack made and configured, its state in a file backend of its own."""
    folder, backend = (Path(tempfile.mkdtemp(prefix="interlock-bench-")) for _ in range(2))
    runtime = {"name": "python", "options": {"toolchain": "uv", "virtualenv": sys.prefix}}
    for name, text in {"Pulumi.yaml": yaml.safe_dump({"name": "interlock", "runtime": runtime}), **files}.items():
        (folder / name).write_text(text, "utf-8")
    own = {"PULUMI_BACKEND_URL": f"file://{backend}", "PULUMI_CONFIG_PASSPHRASE": "bench"}
    made = PulumiProject(folder, stack, os.environ | cluster.environment | own)
    made.checked("stack", "init", stack)
    if config:
        path = folder / f"Pulumi.{stack}.yaml"
        path.write_text(yaml.safe_dump((yaml.safe_load(path.read_text("utf-8")) or {}) | {"config": dict(config)}), "utf-8")
    return made


def seconds(run: Callable[[], Outcome]) -> float:
    """Wall time of one command. Raises ToolError (code 1) with what it printed when it fails."""
    started = time.perf_counter()
    outcome = run()
    taken = time.perf_counter() - started
    if outcome.code:
        raise ToolError(f"a measured command failed:\n{outcome.text[-3000:]}", 1)
    return taken


def median(run: Callable[[], Outcome], times: int) -> float:
    """Median wall time of ``times`` runs."""
    return statistics.median(seconds(run) for _ in range(times))


def pairs(ours: Callable[[], Outcome], flat: Callable[[], Outcome], times: int) -> tuple[float, float, float]:
    """Medians of ``times`` pairs, each measured one after the other: seconds of both, and the ratio within a pair."""
    taken = [(seconds(ours), seconds(flat)) for _ in range(times)]
    first, second = zip(*taken, strict=True)
    return statistics.median(first), statistics.median(second), statistics.median(one / other for one, other in taken)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as Markdown."""
    cells = [[f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in ([*head], ["---"] * len(head), *cells)]
    return "\n".join([f"## {title}", "", *lines, ""])
