"""Simulated nodes: the Node objects that a caller renders from its pools, kept exactly as given."""

import json
from typing import Any

from tools.cluster.lifecycle import kubectl
from tools.cluster.state import Cluster
from tools.common import ToolError

SIMULATED = "interlock.dev/simulated"
MANAGER = "--field-manager=interlock-simulator"


def parse(text: str, source: str) -> list[dict[str, Any]]:
    """The nodes in ``text``: one JSON object, a JSON list, or a List object. Raises ToolError with the item that is none."""
    try:
        read = json.loads(text)
    except ValueError as error:
        raise ToolError(f"{source}: it is not JSON ({error})") from error
    items = read.get("items", [read]) if isinstance(read, dict) else read
    if not isinstance(items, list):
        raise ToolError(f"{source}: expected a Node, a list of Nodes or a List object")
    for number, item in enumerate(items):
        if not isinstance(item, dict) or item.get("kind") != "Node" or not item.get("metadata", {}).get("name"):
            raise ToolError(f"{source}: item {number} is not a Node with a name")
        item.setdefault("apiVersion", "v1")
        item["metadata"].setdefault("labels", {})[SIMULATED] = "true"
    names = [item["metadata"]["name"] for item in items]
    if len(set(names)) < len(names):
        raise ToolError(f"{source}: node names occur twice: {', '.join(sorted({name for name in names if names.count(name) > 1}))}")
    return items


def apply(cluster: Cluster, nodes: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """Makes the simulated nodes of ``cluster`` exactly ``nodes`` and waits until they are Ready; real nodes are left alone.

    Returns how many there are, and the names of those that were removed.
    """
    wanted = {node["metadata"]["name"] for node in nodes}
    listed = kubectl(cluster, "get", "nodes", "-l", f"{SIMULATED}=true", "-o", "jsonpath={.items[*].metadata.name}").split()
    extra = sorted(set(listed) - wanted)
    if extra:
        kubectl(cluster, "delete", "nodes", *extra)
    if nodes:
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes})
        kubectl(cluster, "apply", "--server-side", "--force-conflicts", MANAGER, "-f", "-", given=given)
        # Capacity is status: the first apply sets it only when it creates the node.
        kubectl(cluster, "apply", "--server-side", "--force-conflicts", MANAGER, "--subresource=status", "-f", "-", given=given)
        kubectl(cluster, "wait", "--for=condition=Ready", "--timeout=180s", *(f"node/{name}" for name in sorted(wanted)))
    return len(nodes), extra
