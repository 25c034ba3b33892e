"""`make up` and `make down`: a stack on the local control plane, from nothing, in one command.

usage: python -m tools.up [--stack dev] [--name dev] [--real-node] [--plan | --planned] [--down]
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tools import build, pulumi_env, rehearsal, toolchain_families
from tools.cluster import lifecycle, nodes
from tools.cluster.state import Cluster
from tools.common import ROOT, ToolError, run_main, say
from tools.node import needs
from tools.node import stack as real


def up(stack: str, name: str, real_node: bool = False) -> None:
    """Builds, starts, deploys and says what came of it. Every step says how long it took and does nothing when it is done already."""
    started = time.monotonic()
    if real_node:
        # What cannot be installed is listed by `require`, with everything else that is missing.
        with contextlib.suppress(ToolError):
            needs.install()
        needs.require()
    # Before anything is built or started, so that a mistake in the stack's file is told at once.
    wanted = pools(stack)
    bin_folder = build.ensure(toolchain_families.select([], ["up"]))
    step(started, f"tools ready: {bin_folder}")
    cluster, fresh = lifecycle.up(name, bin_folder)
    step(started, f"control plane {name} {'started' if fresh else 'runs already'}: {cluster.server}")
    environment = os.environ | pulumi_env.variables(cluster, bin_folder)
    if real_node:
        node, joined = real.join(cluster, stack)
        step(started, f"real node {node.name} {'joined' if joined else 'is there already'}: {node.units} nvidia.com/gpu")
    else:
        count, removed = nodes.apply(cluster, wanted)
        step(
            started,
            f"{count} simulated node{'s are' if count != 1 else ' is'} ready" + (f", removed {', '.join(removed)}" if removed else ""),
        )
    folder = ROOT
    if rehearsal.target(stack).get("local") != name:
        folder = rehearse(cluster, stack, bin_folder)
    deploy(stack, environment, folder)
    step(started, f"stack {stack} is deployed")
    if real_node:
        got = real.ask(cluster, stack)
        step(started, f"{got.url} ({got.model}) answered in {got.seconds} s: {got.text}")
    else:
        describe(cluster, stack, environment, folder)


def show_plan(stack: str) -> None:
    """Prints the stack's plan, its findings last. Raises ToolError when the plan is refused (code 1) or the config is not right (2)."""
    command = [sys.executable, "-m", "interlock.cli.main", "plan", "--stack", stack]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        why = "refused, for the findings above" if code == 1 else "not readable, see above"
        raise ToolError(f"stack {stack} is {why}; nothing was built or started. Change Pulumi.{stack}.yaml and run `make up` again", code)


def rehearse(cluster: Cluster, stack: str, bin_folder: Path) -> Path:
    """Makes stand-ins for what the stack expects of its own cluster, and says so; returns the folder of the project to deploy."""
    made = rehearsal.prepare(cluster, stack, bin_folder)
    say(f"\nStack {stack} is rehearsed here; Pulumi.{stack}.yaml stays as it is, and it is deployed as administrator:")
    for each in made.standins:
        say(f"  stand-in: {each}")
    say()
    return made.folder


def step(started: float, message: str) -> None:
    say(f"[{time.monotonic() - started:5.1f} s] {message}")


def pools(stack: str) -> list[dict[str, Any]]:
    """The simulated nodes of the stack's pools. Raises ToolError with the message of `interlock` when the stack's file is not right."""
    command = [sys.executable, "-m", "interlock.cli.main", "nodes", "--stack", stack, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(done.stderr.strip() or f"`interlock nodes --stack {stack}` ended with {done.returncode}", done.returncode)
    return nodes.parse(done.stdout, f"`interlock nodes --stack {stack}`")


def deploy(stack: str, environment: dict[str, str], folder: Path = ROOT) -> None:
    """`pulumi up` on a stack of the local backend; the stack is made when it is not there."""
    missing = pulumi("stack", "select", stack, environment=environment, folder=folder, quiet=True) != 0
    if missing and pulumi("stack", "init", stack, environment=environment, folder=folder, quiet=True):
        raise ToolError(f"`pulumi stack init {stack}` failed; run it again with the environment of `python -m tools.cluster env`", 1)
    # The outputs are shown at the end; here they would push the findings of a refused update out of sight.
    code = pulumi("up", "--stack", stack, "--yes", "--skip-preview", "--suppress-outputs", environment=environment, folder=folder)
    if code:
        raise ToolError(
            f"`pulumi up --stack {stack}` was refused or failed, for the reasons above; change Pulumi.{stack}.yaml and run `make up` again",
            1,
        )


def pulumi(*arguments: str, environment: dict[str, str], folder: Path = ROOT, quiet: bool = False) -> int:
    """Runs pulumi in the project's folder; returns its exit code."""
    command = ["pulumi", *arguments, "--non-interactive"]
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=output, check=False).returncode


def describe(cluster: Cluster, stack: str, environment: dict[str, str], folder: Path = ROOT) -> None:
    """What is deployed, the stack's outputs, and three things to try next."""
    say("\nWhat is deployed:")
    say(lifecycle.kubectl(cluster, "get", "nodes,deployments,pods,services,ingresses", "--all-namespaces").rstrip())
    say("\nStack outputs:")
    pulumi("stack", "output", "--json", "--stack", stack, environment=environment, folder=folder)
    here = "" if folder == ROOT else f"cd {folder} && "
    say(f"""
Three things to try:
  eval "$(.venv/bin/python -m tools.cluster env)"         then {here}kubectl get pods -A, or pulumi preview --stack {stack}
  .venv/bin/interlock plan --stack {stack} --html plan.html  what is deployed, as a page; --why SERVER for the arithmetic
  edit Pulumi.{stack}.yaml (ask for more GPUs than a node has), then `make up`: it is refused before anything changes

Pods run on simulated nodes: they are scheduled and become Ready, but nothing runs in them, so `kubectl logs` and `exec` do not work.
`make down` removes all of it.""")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.up", description="A stack on the local control plane.")
    parser.add_argument("--stack", help="which stack (dev; node with --real-node)")
    parser.add_argument("--real-node", action="store_true", help="on one real node of this machine instead of simulated ones (root, Linux)")
    parser.add_argument("--plan", action="store_true", help="only show the plan, and fail when it is refused")
    parser.add_argument("--planned", action="store_true", help="the plan was shown already")
    parser.add_argument("--name", default="dev", help="which local cluster (dev)")
    parser.add_argument("--down", action="store_true", help="remove the cluster and its stacks instead")
    options = parser.parse_args(arguments)
    stack = options.stack or (real.STACK if options.real_node else "dev")
    if options.down:
        removed = lifecycle.down(options.name)
        say(f"removed {', '.join(removed)}" if removed else "there was nothing to remove")
        return 0
    if not options.planned:
        show_plan(stack)
    if not options.plan:
        up(stack, options.name, options.real_node)
    return 0


if __name__ == "__main__":
    run_main(main)
