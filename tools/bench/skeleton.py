"""The frame's own numbers: `interlock plan`, control plane start, warm `make up`, and preview against a flat program by size.

usage: python -m tools.bench.skeleton [SERVERS ...]

The flat program registers the very same objects one by one, without plan and components.
"""

import copy
import json
import statistics
import subprocess
import sys
import time
from typing import Any

import yaml

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from tools import build, toolchain_families
from tools.bench.projects import median, project, table
from tools.cluster import lifecycle
from tools.cluster.testing import LocalCluster
from tools.common import ROOT, run_main, say

PLAN_GOAL_SECONDS = 2.0
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


def of_size(config: dict[str, Any], servers: int) -> dict[str, Any]:
    """The dev stack's config with ``servers`` copies of its server, and two nodes for each: one is for the new pod of a rollout."""
    made = copy.deepcopy(config)
    made["pools"][0]["nodes"] = 2 * servers
    made["servers"] = [made["servers"][0] | {"name": f"chat-{number}"} for number in range(servers)]
    return made


def preview(cluster: LocalCluster, config: dict[str, Any], servers: int) -> list[object]:
    """A row of (servers, objects, our preview, flat preview, ratio): medians of three."""
    config = of_size(config, servers) | {"target": {"local": cluster.cluster.name}}
    loaded = load(config)
    objects = render(loaded, plan(loaded, "bench"))
    entry = (ROOT / "__main__.py").read_text("utf-8")
    ours = project(cluster, {"__main__.py": entry}, config={"interlock:cluster": config})
    raw = {"objects.json": json.dumps(objects), "kubeconfig": cluster.kubeconfig.read_text("utf-8")}
    flat = project(cluster, {"__main__.py": FLAT.replace("CONTEXT", cluster.context), **raw})
    taken = [median(made.preview, 3) for made in (ours, flat)]
    return [servers, len(objects), *taken, taken[0] / taken[1]]


def timed(*command: str) -> float:
    """Wall time of a command in the repository; one that fails stops the measurement."""
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints the tables."""
    sizes = [int(size) for size in arguments or ["10", "100"]]
    config = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text("utf-8"))["config"]["interlock:cluster"]
    planned = statistics.median(timed(sys.executable, "-m", "interlock.cli.main", "plan", "--stack", "dev") for _ in range(5))
    folder = build.ensure(toolchain_families.select([], ["test"]))
    started = time.perf_counter()
    try:
        running, _ = lifecycle.up("bench-frame", folder)
        start = time.perf_counter() - started
        rows = [preview(LocalCluster(running, folder), config, size) for size in sizes]
    finally:
        lifecycle.down("bench-frame")
    timed(sys.executable, "-m", "tools.up")
    warm = timed(sys.executable, "-m", "tools.up")
    say(
        table(
            "Frame, s",
            (f"interlock plan (goal {PLAN_GOAL_SECONDS:.0f})", "control plane start", "second `make up`"),
            [[planned, start, warm]],
        )
    )
    say(table("Preview on create, s", ("servers", "objects", "interlock", "flat program", "ratio"), rows))
    return 0


if __name__ == "__main__":
    run_main(main)
