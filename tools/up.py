"""`make up` and `make down`: a stack on the local control plane, from nothing, in one command.

usage: python -m tools.up [--stack dev] [--name dev] [--real-node] [--down]
"""

import argparse
import os
import subprocess
import sys
import time
from typing import Any

from tools import build, families, pulumi_env
from tools.cluster import lifecycle, nodes
from tools.cluster.state import Cluster
from tools.common import ROOT, ToolError, run_main, say
from tools.node import needs
from tools.node import stack as real


def up(stack: str, name: str, real_node: bool = False) -> None:
    """Builds, starts, deploys and says what came of it. Every step says how long it took and does nothing when it is done already."""
    started = time.monotonic()
    if real_node:
        needs.require()
    # Before anything is built or started, so that a mistake in the stack's file is told at once.
    wanted = pools(stack)
    bin_folder = build.ensure(families.select([], ["up"]))
    step(started, f"tools ready: {bin_folder}")
    cluster, fresh = lifecycle.up(name, bin_folder)
    step(started, f"control plane {name} {'started' if fresh else 'runs already'}: {cluster.server}")
    environment = os.environ | pulumi_env.variables(cluster, bin_folder)
    if real_node:
        node, joined = real.join(cluster, stack)
        step(started, f"real node {node.name} {'joined' if joined else 'is there already'}: {node.units} nvidia.com/gpu")
    else:
        count, removed = nodes.apply(cluster, wanted)
        step(started, f"{count} simulated nodes are ready" + (f", removed {', '.join(removed)}" if removed else ""))
    deploy(stack, environment)
    step(started, f"stack {stack} is deployed")
    if real_node:
        got = real.ask(cluster, stack)
        step(started, f"{got.url} ({got.model}) answered in {got.seconds} s: {got.text}")
    else:
        describe(cluster, stack, environment)


def step(started: float, message: str) -> None:
    say(f"[{time.monotonic() - started:5.1f} s] {message}")


def pools(stack: str) -> list[dict[str, Any]]:
    """The simulated nodes of the stack's pools. Raises ToolError with the message of `interlock` when the stack's file is not right."""
    command = [sys.executable, "-m", "interlock.cli.main", "nodes", "--stack", stack, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(done.stderr.strip() or f"`interlock nodes --stack {stack}` ended with {done.returncode}", done.returncode)
    return nodes.parse(done.stdout, f"`interlock nodes --stack {stack}`")


def deploy(stack: str, environment: dict[str, str]) -> None:
    """`pulumi up` on a stack of the local backend; the stack is made when it is not there."""
    missing = pulumi("stack", "select", stack, environment=environment, quiet=True) != 0
    if missing and pulumi("stack", "init", stack, environment=environment, quiet=True):
        raise ToolError(f"`pulumi stack init {stack}` failed; run it again with the environment of `python -m tools.cluster env`", 1)
    code = pulumi("up", "--stack", stack, "--yes", "--skip-preview", environment=environment)
    if code:
        raise ToolError(
            f"`pulumi up --stack {stack}` was refused or failed (see above); change Pulumi.{stack}.yaml and run `make up` again", 1
        )


def pulumi(*arguments: str, environment: dict[str, str], quiet: bool = False) -> int:
    """Runs pulumi in the repository; returns its exit code."""
    command = ["pulumi", *arguments, "--non-interactive"]
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=output, check=False).returncode


def describe(cluster: Cluster, stack: str, environment: dict[str, str]) -> None:
    """What is deployed, the stack's outputs, and three things to try next."""
    say("\nWhat is deployed:")
    say(lifecycle.kubectl(cluster, "get", "nodes,deployments,pods,services,ingresses", "--all-namespaces").rstrip())
    say("\nStack outputs:")
    pulumi("stack", "output", "--json", "--stack", stack, environment=environment)
    say(f"""
Three things to try:
  eval "$(uv run python -m tools.cluster env)" && kubectl get pods -A      (the same variables make `pulumi preview --stack {stack}` work)
  uv run interlock plan --stack {stack}                                     why it is deployed as it is, with the arithmetic
  edit Pulumi.{stack}.yaml (ask for more GPUs than a node has), then `make up`: it is refused before anything changes

Pods run on simulated nodes: they are scheduled and become Ready, but nothing runs in them, so `kubectl logs` and `exec` do not work.
`make down` removes all of it.""")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.up", description="A stack on the local control plane.")
    parser.add_argument("--stack", help="which stack (dev; node with --real-node)")
    parser.add_argument("--real-node", action="store_true", help="on one real node of this machine instead of simulated ones (root, Linux)")
    parser.add_argument("--name", default="dev", help="which local cluster (dev)")
    parser.add_argument("--down", action="store_true", help="remove the cluster and its stacks instead")
    options = parser.parse_args(arguments)
    if options.down:
        removed = lifecycle.down(options.name)
        say(f"removed {', '.join(removed)}" if removed else "there was nothing to remove")
    else:
        up(options.stack or (real.STACK if options.real_node else "dev"), options.name, options.real_node)
    return 0


if __name__ == "__main__":
    run_main(main)
