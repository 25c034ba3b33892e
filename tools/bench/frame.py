"""The frame's own numbers: control plane start, preview against a flat program by size, and a second `make up`.

usage: python -m tools.bench.frame [SERVERS ...]

The flat program registers the very same objects one by one with the SDK's classes, without plan, rules and components, as a person
would write it. Both are measured in turn, and the ratio is the median of the pairs' ratios, so that a busy machine slows both.
"""

import json
import statistics
import subprocess
import sys
import time
from typing import Any

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from tools import build, toolchain_families
from tools.bench.goals import Goal
from tools.bench.projects import of_size, pairs, project, stack_config, table
from tools.cluster import lifecycle
from tools.cluster.state import everything
from tools.cluster.testing import LocalCluster
from tools.common import ROOT, ToolError, run_main, say

TIMES = 5
GOAL_RATIOS = {10: 1.3, 100: 1.1}
FLAT = """
import json
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s

on = pulumi.ResourceOptions(provider=k8s.Provider("cluster", kubeconfig=Path("kubeconfig").read_text(), context="CONTEXT"))
for index, each in enumerate(json.loads(Path("objects.json").read_text())):
    kind = each.pop("kind")
    group = k8s.apps.v1 if each.pop("apiVersion") == "apps/v1" else k8s.core.v1
    getattr(group, kind)(f"object-{index}", opts=on, **each)
"""


def preview(cluster: LocalCluster, config: dict[str, Any], servers: int, times: int = TIMES) -> tuple[int, float, float, float]:
    """(objects, our preview, flat preview, ratio) on create: medians of ``times``."""
    config = of_size(config, servers) | {"target": {"local": cluster.cluster.name}}
    loaded = load(config)
    objects = render(loaded, plan(loaded, "bench"))
    entry = (ROOT / "__main__.py").read_text("utf-8")
    ours = project(cluster, {"__main__.py": entry}, config={"interlock:cluster": config})
    raw = {"objects.json": json.dumps(objects), "kubeconfig": cluster.kubeconfig.read_text("utf-8")}
    flat = project(cluster, {"__main__.py": FLAT.replace("CONTEXT", cluster.context), **raw})
    return len(objects), *pairs(ours.preview, flat.preview, times)


def warm_up(times: int = 3) -> float:
    """Seconds of `make up` on a stack that is deployed already. Raises ToolError (code 1) when it fails.

    A local cluster that a person had before stays; one that this started is removed.
    """
    taken = []
    mine = "dev" not in everything()
    try:
        for _ in range(times + 1):
            started = time.perf_counter()
            done = subprocess.run([sys.executable, "-m", "tools.up"], cwd=ROOT, capture_output=True, text=True, check=False)
            taken.append(time.perf_counter() - started)
            if done.returncode:
                raise ToolError(f"`make up` failed:\n{(done.stdout + done.stderr)[-3000:]}", 1)
    finally:
        if mine:
            lifecycle.down("dev")
    return statistics.median(taken[1:])


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints the tables."""
    sizes = [int(size) for size in arguments or ["10", "100"]]
    config = stack_config("dev")
    folder = build.ensure(toolchain_families.select([], ["test"]))
    started = time.perf_counter()
    try:
        running, _ = lifecycle.up("bench-frame", folder)
        start = time.perf_counter() - started
        rows = {size: preview(LocalCluster(running, folder), config, size) for size in sizes}
    finally:
        lifecycle.down("bench-frame")
    head = ("servers", "objects", "interlock", "flat program", "ratio")
    say(table("Preview on create, s", head, [[size, *row] for size, row in rows.items()]))
    for size, wanted in GOAL_RATIOS.items():
        if size in rows:
            say(str(Goal(f"preview of {size} servers beside a flat program", rows[size][-1], "times", wanted)))
    say(table("Frame, s", ("control plane start", "second `make up`"), [[start, warm_up()]]))
    return 0


if __name__ == "__main__":
    run_main(main)
