"""What clients of a Service lose when one of two replicas ends: under the supervisor, and with vLLM's own shutdown timeout alone.

``drained`` is a supervised pair whose node is drained: the budget lets one replica go and refuses the other.

usage: python -m tools.bench.replicas [supervised] [bare] [drained]

A real node with the real vLLM on the CPU (tools.node), two replicas, and the clients of tools.node.streams; some minutes for each way.
"""

import time
from collections.abc import Callable

from interlock.infra.config import load
from interlock.infra.manifests.simulated import simulated_nodes
from tools import build, toolchain_families
from tools.bench.projects import table
from tools.cluster import lifecycle as clusters
from tools.common import ToolError, run_main, say
from tools.node import lifecycle, prepare
from tools.node.stack import described_node
from tools.node.streams import streaming
from tools.node.testing import STARTUP_SECONDS, RealNode, node_config, replicated
from tools.runtime.load import Tally

CLUSTER = "bench-replicas"
WAYS = {"supervised": True, "bare": False, "drained": True}
DRAIN_SECONDS = 60
"""How long ``kubectl drain`` goes on asking for the replica that the budget keeps."""
KINDS = ("ConfigMap", "Deployment", "Service", "PodDisruptionBudget")
BEFORE, AFTER = 6.0, 3.0
"""Seconds that clients stream before the end of the replica, and after it."""
COLUMNS = ("way", "answered", "no answer", "cut", "no end", "HTTP 500", "HTTP 503 (come back)", "gone after, s")


def ended(real: RealNode, way: str) -> list[object]:
    """One row: deploys, streams, deletes one pod, counts."""
    namespace = f"bench-{way}"
    config = replicated(real.cluster.name, namespace)
    config["servers"][0]["runtime"] = {"supervised": WAYS[way]}
    real.kubectl("create", "namespace", namespace)
    try:
        real.apply(*(each for each in real.render(config) if each["kind"] in KINDS), namespace=namespace)
        real.wait("deployment/chat", "condition=Available", namespace, STARTUP_SECONDS)
        tally, seconds = one_leaves(real, namespace, _drained if way == "drained" else _deleted)
    finally:
        real.kubectl("delete", "namespace", namespace)
    return [way, *(tally.counts[fate] for fate in ("ok", "lost", "cut", "silent", "http 500", "http 503")), f"{seconds:.0f}"]


def one_leaves(real: RealNode, namespace: str, leave: Callable[[RealNode, str], None]) -> tuple[Tally, float]:
    """What clients saw of the end of one ready pod, and the seconds from its end's beginning until it was gone."""
    with streaming(real.cluster, namespace, "chat") as tally:
        time.sleep(BEFORE)
        started = time.monotonic()
        leave(real, namespace)
        seconds = time.monotonic() - started
        time.sleep(AFTER)
    for note, count in tally.notes.items():
        say(f"  {count} times: {note}")
    return tally, seconds


def _deleted(real: RealNode, namespace: str) -> None:
    real.kubectl("-n", namespace, "delete", "pod", next(iter(real.pods(namespace))))


def _drained(real: RealNode, namespace: str) -> None:
    """``kubectl drain`` of the one node, which the budget stops at the second replica: the first has nowhere to come back to."""
    name, before = real.node.name, set(real.pods(namespace))
    try:
        real.kubectl("drain", name, "--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={DRAIN_SECONDS}s")
    except ToolError as error:
        if "disruption budget" not in str(error):
            raise
    finally:
        there = real.pods(namespace)
        leaving = [each for each in before if each not in there or "deletionTimestamp" in there[each]["metadata"]]
        say(f"  drained: {len(leaving)} of {len(before)} replicas was let go, the budget kept the other")
        real.until(lambda: not set(leaving) & set(real.pods(namespace)), "the end of the replica that was let go")
        real.kubectl("uncordon", name)


def main(arguments: list[str]) -> int:
    if unknown := sorted(set(arguments) - set(WAYS)):
        raise ToolError(f"{', '.join(unknown)}: there is no such way; there are {', '.join(WAYS)}")
    if reason := prepare.unready():
        say(f"passed over: {reason}")
        return 0
    tools = build.ensure(toolchain_families.select([], prepare.SETS))
    try:
        cluster, _ = clusters.up(CLUSTER, tools)
        described = simulated_nodes(load(node_config(CLUSTER, "unused")).pools)[0]
        node, _ = lifecycle.up(cluster, **described_node(described))
        real = RealNode(cluster, tools, node)
        say(table("One of two replicas ends", COLUMNS, [ended(real, way) for way in arguments or WAYS]))
    finally:
        clusters.down(CLUSTER)
    return 0


if __name__ == "__main__":
    run_main(main)
