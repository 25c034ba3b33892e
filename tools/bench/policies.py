"""What the policy pack costs over a pack that does nothing, on flat programs of 100, 300 and 1,000 resources.

usage: python -m tools.bench.policies [SIZES]

One resource in ten is a Deployment with an engine, the others are ConfigMaps.
The empty pack has one policy on resources and one on the stack.
"""

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from tools.bench.projects import control_plane, median, project, table
from tools.cluster.testing import LocalCluster
from tools.common import ROOT, run_main, say

GOAL_SECONDS = 1.0
PROGRAM = """
import pulumi_kubernetes as k8s

for index in range(SIZE):
    if index % 10:
        k8s.core.v1.ConfigMap(f"map-{index}", metadata={"name": f"map-{index}", "namespace": "default"}, data={"key": "value" * 20})
        continue
    labels = {"app": f"chat-{index}"}
    engine = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.33.0",
        "args": ["--model=Qwen/Qwen2.5-7B-Instruct", "--tensor-parallel-size=4", "--max-model-len=8192"],
        "resources": {"limits": {"nvidia.com/gpu": "4", "memory": "48Gi"}},
        "startup_probe": {"http_get": {"path": "/health", "port": 8000}, "failure_threshold": 120},
        "volume_mounts": [{"name": "shm", "mount_path": "/dev/shm"}],
    }
    shared = {"name": "shm", "empty_dir": {"medium": "Memory", "size_limit": "8Gi"}}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [engine], "volumes": [shared], "enable_service_links": False}}
    spec = {"replicas": 1, "selector": {"match_labels": labels}, "template": pod}
    k8s.apps.v1.Deployment(f"chat-{index}", metadata={"name": f"chat-{index}", "namespace": "default"}, spec=spec)
"""
EMPTY = """
from pulumi_policy import PolicyPack, ResourceValidationPolicy, StackValidationPolicy

nothing = [
    ResourceValidationPolicy("nothing", "nothing", lambda args, report: None),
    StackValidationPolicy("nothing-at-all", "nothing", lambda args, report: None),
]
PolicyPack("empty", nothing)
"""


def pack(main: str) -> str:
    """A folder with a pack that runs in this Python."""
    folder = Path(tempfile.mkdtemp(prefix="interlock-pack-"))
    options = f"runtime:\n  name: python\n  options: {{toolchain: uv, virtualenv: {sys.prefix}}}\nversion: 0.1.0\n"
    (folder / "PulumiPolicy.yaml").write_text(options, "utf-8")
    (folder / "__main__.py").write_text(main, "utf-8")
    return str(folder)


def measure(cluster: LocalCluster, sizes: list[int], times: int) -> list[tuple[int, float, float, float, float]]:
    """Rows of (resources, no pack, empty pack, our pack, overhead over the empty pack)."""
    ours = pack((ROOT / "policies" / "__main__.py").read_text("utf-8"))
    empty = pack(EMPTY)
    rows = []
    for size in sizes:
        made = project(cluster, {"__main__.py": PROGRAM.replace("SIZE", str(size))})
        taken = [median(partial(made.preview, *more), times) for more in ((), ("--policy-pack", empty), ("--policy-pack", ours))]
        rows.append((size, taken[0], taken[1], taken[2], taken[2] - taken[1]))
        shutil.rmtree(made.folder)
        say(f"{size} resources: {taken[0]:.1f} s without a pack, {taken[1]:.1f} s with an empty one, {taken[2]:.1f} s with ours")
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints the table."""
    sizes = [int(size) for size in arguments or ["100", "300", "1000"]]
    with control_plane("bench-policies") as cluster:
        rows = measure(cluster, sizes, times=1)
    head = ("resources", "no pack, s", "empty pack, s", "our pack, s", f"overhead, s (goal {GOAL_SECONDS:.0f} at 1,000)")
    say(table("Policy pack: preview on create", head, rows))
    return 0


if __name__ == "__main__":
    run_main(main)
