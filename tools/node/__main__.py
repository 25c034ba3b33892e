"""A real node in the local cluster.

usage: python -m tools.node up|down|status|remains|ctr|packages [--cluster NAME]
"""

import argparse
import os

from tools.cluster import lifecycle as clusters
from tools.cluster.state import Cluster, load
from tools.common import ToolError, run_main, say
from tools.node import lifecycle, needs, remains, settings


def _up(options: argparse.Namespace) -> int:
    needs.require()
    cluster = clusters.running(options.cluster)
    node, started = lifecycle.up(
        cluster, options.node, cards=options.cards, slices=options.slices, labels=options.label, taints=options.taint
    )
    say(f"real node {node.name} {'joined' if started else 'is there already'}: {node.units} nvidia.com/gpu at {node.address}")
    return 0


def _down(options: argparse.Namespace) -> int:
    removed = lifecycle.down(load(options.cluster) or Cluster(options.cluster))
    say(f"real node of cluster {options.cluster}: " + (f"removed {', '.join(removed)}" if removed else "there was nothing"))
    return 0


def _status(options: argparse.Namespace) -> int:
    cluster = load(options.cluster)
    if cluster is None:
        raise ToolError(f"there is no local cluster {options.cluster}", 1)
    text = lifecycle.status(cluster)
    say(text)
    return 1 if "dead" in text else 0


def _remains(options: argparse.Namespace) -> int:
    found = remains.count(Cluster(options.cluster))
    for kind, items in found.items():
        say(f"{kind}: {len(items)}")
        for item in items:
            say(f"  {item}")
    return 1 if any(found.values()) else 0


def _ctr(options: argparse.Namespace) -> int:
    cluster = load(options.cluster)
    if cluster is None or settings.PROCESS not in cluster.processes:
        raise ToolError(f"cluster {options.cluster} has no real node")
    node = settings.load(settings.folder_of(cluster) / "node.json")
    command = lifecycle.enter(cluster)
    os.execvp(command[0], [*command, f"{node.bin_folder}/ctr", "--namespace", "k8s.io", *options.arguments])


def _packages(options: argparse.Namespace) -> int:
    del options
    needs.install()
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.node", description="A real node in the local cluster.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("up", _up, "join it, or say that it is there"),
        ("down", _down, "take it away again; the cluster stays"),
        ("status", _status, "say whether it runs; exit 1 when it is dead"),
        ("remains", _remains, "list everything of it and its cluster that is on this machine; exit 1 when there is something"),
        ("ctr", _ctr, "run containerd's client in it"),
        ("packages", _packages, "install the Debian packages that it needs"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        command.add_argument("--cluster", default="dev", help="which local cluster (dev)")
        if name == "up":
            command.add_argument("--node", default="real", help="its name (real)")
            command.add_argument("--cards", type=int, default=1, help="simulated GPUs (1)")
            command.add_argument("--slices", type=int, default=1, help="time slices of each (1)")
            command.add_argument("--label", action="append", default=[], metavar="KEY=VALUE", help="a label of the node")
            command.add_argument("--taint", action="append", default=[], metavar="KEY", help="a NoSchedule taint of the node")
        if name == "ctr":
            command.add_argument("arguments", nargs=argparse.REMAINDER, help="the client's arguments")
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    run_main(main)
