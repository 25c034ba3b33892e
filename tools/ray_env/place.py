"""Runs in the Ray environment: starts a real Ray cluster of several raylets on this machine, and asks it for placement groups.

Reads {"nodes": [{"num_gpus", "resources"}], "groups": [{"bundles", "strategy", "keep", "seconds"}]} and prints for each group the index of
the node that each bundle landed on, or null where the group was not placed in time. A group that is not kept is removed before the next.
"""

import json
import sys
from typing import Any

import ray
from ray.cluster_utils import Cluster
from ray.util.placement_group import placement_group, placement_group_table, remove_placement_group

STORE = 80 * 2**20


def main() -> None:
    asked = json.load(sys.stdin)
    # The head offers nothing, as ours: num-cpus 0 and no GPUs.
    head = {"num_cpus": 0, "num_gpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        nodes = [cluster.add_node(num_cpus=4, object_store_memory=STORE, **each) for each in asked["nodes"]]
        ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
        where = {node.node_id: index for index, node in enumerate(nodes)}
        found = [placed(each, where) for each in asked["groups"]]
        ray.shutdown()
    finally:
        cluster.shutdown()
    json.dump(found, sys.stdout)


def placed(asked: dict[str, Any], where: dict[str, int]) -> list[int] | None:
    """The node of each bundle; None where they are not all reserved."""
    group = placement_group(asked["bundles"], strategy=asked["strategy"])
    there = group.wait(timeout_seconds=asked["seconds"])
    table = placement_group_table(group)["bundles_to_node_id"]
    if not (there and asked.get("keep")):
        remove_placement_group(group)
    return [where[table[index]] for index in sorted(table)] if there else None


if __name__ == "__main__":
    main()
