"""The frame's own numbers: control plane start, preview against a flat program by size, and a second `make up`.

usage: python -m tools.bench.frame [--times PAIRS] [--only servers|components] [SERVERS ...]

The flat program registers the very same objects one by one with the SDK's classes, without plan, rules and components, as a person
would write it. Both are measured in turn, and the ratio is the median of the pairs' ratios, so that a busy machine slows both.

The CLI serializes the whole state after each resource, which hides both programs from some hundred resources on: set
PULUMI_SKIP_CHECKPOINTS=true for the large sizes.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from interlock.infra.config import load
from interlock.infra.manifests.alone import with_runtime
from interlock.infra.manifests.bundles import stack_objects
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
GOAL_RATIOS = {10: 1.3, 100: 1.1, 300: 1.3}
GOAL_COMPONENTS = 1.3
GOAL_GROWTH = 1.1
FLAT = """
import json
import re
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s

on = pulumi.ResourceOptions(provider=k8s.Provider("cluster", kubeconfig=Path("kubeconfig").read_text(), context="CONTEXT"))
for index, each in enumerate(json.loads(Path("objects.json").read_text())):
    kind = each.pop("kind")
    group, _, version = each.pop("apiVersion").rpartition("/")
    group = getattr(getattr(k8s, group.partition(".")[0] or "core"), version)
    words = {re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key): value for key, value in each.items()}
    getattr(group, kind)(f"object-{index}", opts=on, **words)
"""

COMPONENTS = """
import json
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s

from interlock.components.vllm_server import VllmServer

on = k8s.Provider("cluster", kubeconfig=Path("kubeconfig").read_text(), context="CONTEXT")
for name, args in json.loads(Path("servers.json").read_text()).items():
    VllmServer(name, args, pulumi.ResourceOptions(providers=[on]))
"""


def components(cluster: LocalCluster, config: dict[str, Any], servers: int, times: int = TIMES) -> tuple[int, float, float, float]:
    """The same of a stranger's program, whose components plan and judge each for itself."""
    config = of_size(config, servers)
    common = {"pool": config["pools"][0], "namespace": "default"}
    args = {server["name"]: {"server": {key: server[key] for key in server if key != "pool"}, **common} for server in config["servers"]}
    loaded = load(config)
    sets = stack_objects(loaded, plan(loaded, "bench")).servers
    raw = {"kubeconfig": cluster.kubeconfig.read_text("utf-8")}
    alone = [with_runtime(each, loaded, "bench", each.name) for each in sets]
    objects = [{**each, "metadata": {**each["metadata"], "namespace": "default"}} for one in alone for each in one.manifests]
    own = project(cluster, {"__main__.py": COMPONENTS.replace("CONTEXT", cluster.context), "servers.json": json.dumps(args), **raw})
    flat = project(cluster, {"__main__.py": FLAT.replace("CONTEXT", cluster.context), "objects.json": json.dumps(objects), **raw})
    return len(objects), *pairs(own.preview, flat.preview, times)


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


def growth(rows: Mapping[int, tuple[int, float, float, float]]) -> float:
    """The exponent by which our preview's time grows from the smallest to the largest size."""
    least, most = min(rows), max(rows)
    return math.log(rows[most][1] / rows[least][1]) / math.log(most / least)


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
    parser = argparse.ArgumentParser(prog="python -m tools.bench.frame", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[10, 100], metavar="SERVERS")
    parser.add_argument("--times", type=int, default=TIMES, help="pairs that are measured of each")
    parser.add_argument("--only", choices=("servers", "components"), help="one of the two tables, without the second `make up`")
    options = parser.parse_args(arguments)
    sizes, times = options.sizes, options.times
    config = stack_config("dev")
    folder = build.ensure(toolchain_families.select([], ["test"]))
    started = time.perf_counter()
    try:
        running, _ = lifecycle.up("bench-frame", folder)
        start = time.perf_counter() - started
        cluster = LocalCluster(running, folder)
        rows = {size: preview(cluster, config, size, times) for size in sizes if options.only != "components"}
        own = {size: components(cluster, config, size, times) for size in sizes if options.only != "servers"}
    finally:
        lifecycle.down("bench-frame")
    head = ("servers", "objects", "interlock", "flat program", "ratio")
    for title, named, measured in (
        ("Preview on create, s", head, rows),
        ("Preview of components on create, s", ("servers", "objects", "components", *head[3:]), own),
    ):
        if measured:
            say(table(title, named, [[size, *row] for size, row in measured.items()]))
    for what, measured, goals in (("servers", rows, GOAL_RATIOS), ("components", own, dict.fromkeys(own, GOAL_COMPONENTS))):
        for size in sorted(set(measured) & set(goals)):
            say(str(Goal(f"preview of {size} {what} beside a flat program", measured[size][-1], "times", goals[size])))
        if len(measured) > 1:
            say(str(Goal(f"growth of the preview of {what} by size", growth(measured), "exponent", GOAL_GROWTH)))
    if options.only:
        return 0
    say(table("Frame, s", ("control plane start", "second `make up`"), [[start, warm_up()]]))
    return 0


if __name__ == "__main__":
    run_main(main)
