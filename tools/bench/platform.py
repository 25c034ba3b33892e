"""The ground under the servers: objects rendered per second, and `pulumi up` of a platform stack with 10 pools.

usage: python -m tools.bench.platform
"""

import time
from typing import Any

from interlock.infra.config import load
from interlock.infra.manifests.render import platform_objects
from interlock.infra.manifests.simulated import simulated_nodes
from interlock.infra.plan.plan import plan
from tools.bench.projects import control_plane, project, seconds, table
from tools.cluster.testing import LocalCluster
from tools.common import ROOT, run_main, say

POOLS = 10
ROUNDS = 50
SHARES: list[dict[str, Any]] = [
    {},
    {"kind": "time-slicing", "replicas": 4},
    {"kind": "mps", "replicas": 2},
    {"kind": "mig", "profile": "1g.10gb"},
]


def config(pools: int, cluster: str = "bench-platform") -> dict[str, Any]:
    """A platform stack with that many pools of all kinds of sharing, one node each, and a tenant for each."""
    names = [f"pool-{index}" for index in range(pools)]
    return {
        "target": {"local": cluster},
        "scope": "platform",
        "namespace": "platform",
        "platform": {
            "gpu_layer": {"kind": "device-plugin", "mig": "prepared"},
            "priority_classes": [{"name": "training", "value": 1000, "preempts": False}, {"name": "serving", "value": 100000}],
        },
        "pools": [
            {"name": name, "gpu": "a100", "nodes": 1, "gpus_per_node": 8, "node_names": [f"{name}-a"], "share": SHARES[index % len(SHARES)]}
            for index, name in enumerate(names)
        ],
        "tenants": [{"name": f"tenant-{name}", "gpus": {name: 4}} for name in names],
    }


def rendered() -> tuple[int, float]:
    """(objects of one rendering, objects per second)."""
    loaded = load(config(POOLS))
    decided = plan(loaded, "bench")
    platform_objects(loaded, decided)
    started = time.perf_counter()
    for _ in range(ROUNDS):
        made = platform_objects(loaded, decided)
    return len(made), ROUNDS * len(made) / (time.perf_counter() - started)


def deployed(cluster: LocalCluster, pools: int) -> tuple[int, int, float, float, float]:
    """A row of (pools, objects, first up, second up, destroy) in seconds; the cluster's simulated nodes become those of the pools."""
    written = config(pools, cluster.cluster.name)
    loaded = load(written)
    # The nodes are there before, without labels of ours.
    nodes = simulated_nodes(loaded.pools)
    for node in nodes:
        labels = node["metadata"]["labels"]
        kept = {key: value for key, value in labels.items() if not key.endswith(".config") and key != "interlock.dev/pool"}
        node["metadata"]["labels"] = kept
    cluster.set_nodes(*nodes)
    entry = (ROOT / "__main__.py").read_text("utf-8")
    made = project(cluster, {"__main__.py": entry}, "bench", {"interlock:cluster": written})
    return pools, len(platform_objects(loaded, plan(loaded, "bench"))), seconds(made.up), seconds(made.up), seconds(made.destroy)


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints the tables."""
    count, rate = rendered()
    say(table("Rendering of a platform stack", ("objects", "objects per second"), [[count, round(rate)]]))
    with control_plane("bench-platform") as cluster:
        row = deployed(cluster, POOLS)
    say(table("`pulumi up` of a platform stack, s", ("pools", "objects", "first up", "second up", "destroy"), [row]))
    return 0


if __name__ == "__main__":
    run_main(main)
