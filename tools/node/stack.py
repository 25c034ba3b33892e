"""A stack on a real node: the node as the stack's pool describes it, and the answer of its server."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tools.cluster.nodes import SIMULATED
from tools.cluster.state import Cluster
from tools.common import ROOT, ToolError
from tools.node import lifecycle
from tools.node.ask import Answer, answer
from tools.node.settings import Node

STACK = "node"
RESOURCE = "nvidia.com/gpu"


def join(cluster: Cluster, stack: str) -> tuple[Node, bool]:
    """Joins the node that the stack's one pool describes: its labels, taints and units. Raises ToolError for any other stack."""
    described = _interlock("nodes", "--stack", stack, "--json")
    found = described["items"] if isinstance(described, dict) else described
    if len(found) != 1 or RESOURCE not in found[0]["status"]["capacity"]:
        raise ToolError(
            f"stack {stack}: a real node carries a stack of one pool with one node that offers {RESOURCE}; it has {len(found)} nodes"
        )
    return lifecycle.up(cluster, **described_node(found[0]))


def described_node(node: Mapping[str, Any]) -> dict[str, Any]:
    """What ``lifecycle.up`` needs to make a real node of a simulated one."""
    found = node["metadata"]["labels"]
    # The kubelet sets Kubernetes' own labels itself and may set no others of that domain.
    labels = [f"{key}={value}" for key, value in found.items() if "kubernetes.io" not in key and key != SIMULATED]
    return {
        "name": node["metadata"]["name"],
        "cards": int(found["nvidia.com/gpu.count"]),
        "slices": int(found["nvidia.com/gpu.replicas"]),
        "labels": labels,
        "taints": [taint["key"] for taint in node["spec"].get("taints", ())],
    }


def ask(cluster: Cluster, stack: str) -> Answer:
    """The answer of the stack's first server, through its Service."""
    server = _interlock("plan", "--stack", stack, "--json")["servers"][0]
    return answer(cluster, server["namespace"], server["name"], server["args"]["served_model_name"])


def _interlock(*arguments: str) -> Any:
    command = [sys.executable, "-m", "interlock.cli.main", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(done.stderr.strip() or f"`interlock {' '.join(arguments)}` ended with {done.returncode}", done.returncode)
    return json.loads(done.stdout)
