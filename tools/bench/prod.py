"""`pulumi up` of the prod stack from nothing, split into engine, program and provider, and its preview beside a flat program's.

usage: python -m tools.bench.prod

engine: an up of an empty program. program: the prod program's own time, from imports to the last registration, against Pulumi's mocks.
provider: the rest, mostly waiting for objects. The flat program registers the very same objects one by one, without plan and components.
"""

import json
import subprocess
import sys
from typing import Any

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.manifests.simulated import simulated_nodes
from interlock.infra.plan.plan import plan
from tools.bench.goals import Goal
from tools.bench.projects import control_plane, pairs, project, seconds, stack_config, table
from tools.cluster.testing import LocalCluster, PulumiProject
from tools.common import ROOT, ToolError, run_main, say

GOAL_RATIO = 1.2
GATEWAY = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "Gateway",
    "metadata": {"name": "inference", "namespace": "gateways"},
    "spec": {
        "gatewayClassName": "simulated",
        "listeners": [
            {"name": name, "protocol": "HTTP", "port": port, "allowedRoutes": {"namespaces": {"from": "All"}}}
            for name, port in (("http", 80), ("https", 443))
        ],
    },
}
FLAT = """
import json
from pathlib import Path

import pulumi
from pulumi_kubernetes import Provider

on = pulumi.ResourceOptions(provider=Provider("cluster", kubeconfig=Path("kubeconfig").read_text(), context="CONTEXT"))
for index, each in enumerate(json.loads(Path("objects.json").read_text())):
    version = each["apiVersion"]
    pulumi.CustomResource(f"kubernetes:{version if '/' in version else 'core/' + version}:{each['kind']}", f"object-{index}", each, on)
"""
# The prod program without an engine: registrations are answered at once.
ALONE = """
import time

started = time.perf_counter()
import datetime as dt
import sys
from pathlib import Path

import pulumi
from interlock.cli.stackfile import read_stack
from interlock.infra.preview import preview
from interlock.stacks.program import deploy
from interlock.stacks.settings import Settings


class Engine(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return args.name, args.inputs

    def call(self, args):
        return {}


pulumi.runtime.set_mocks(Engine(), project="interlock", stack="prod")
read = read_stack("prod", None, Path(sys.argv[1]))


@pulumi.runtime.test
def program():
    made = preview(read.config, "prod", read.source, today=dt.date.today())
    deploy(Settings("prod", read.source, read.config, "kubeconfig", "prod"), made, "uid")


program()
print(time.perf_counter() - started)
"""


def prepare(cluster: LocalCluster, config: dict[str, Any]) -> None:
    """Nodes, gateway and namespace that the prod stack finds."""
    cluster.set_nodes(*simulated_nodes(load(config).pools))
    for name in ("gateways", config["namespace"]):
        cluster.kubectl("create", "namespace", name)
    cluster.kubectl("label", "namespace", config["namespace"], "interlock.dev/stack=prod")
    cluster.apply(GATEWAY, namespace="gateways")


def alone() -> float:
    """Seconds of the prod program against mocks, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", ALONE, str(ROOT)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"the program failed:\n{done.stderr[-3000:]}", 1)
    return float(done.stdout.split()[-1])


def projects(cluster: LocalCluster, config: dict[str, Any]) -> tuple[PulumiProject, PulumiProject, int]:
    """The prod stack, a flat program of the same objects, and how many these are."""
    config = config | {"target": {"local": cluster.cluster.name}}
    loaded = load(config)
    objects = render(loaded, plan(loaded, "prod"))
    prod = project(cluster, {"__main__.py": (ROOT / "__main__.py").read_text("utf-8")}, "prod", {"interlock:cluster": config})
    raw = {"objects.json": json.dumps(objects), "kubeconfig": cluster.kubeconfig.read_text("utf-8")}
    return prod, project(cluster, {"__main__.py": FLAT.replace("CONTEXT", cluster.context), **raw}), len(objects)


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints the tables."""
    config = stack_config("prod")
    with control_plane("bench-prod") as cluster:
        prepare(cluster, config)
        prod, flat, count = projects(cluster, config)
        previews = pairs(prod.preview, flat.preview, 3)
        say(table("Preview of prod on create, s", ("prod", "flat program", "ratio"), [previews]))
        say(str(Goal("preview of prod beside a flat program of untyped resources", previews[-1], "times", GOAL_RATIO)))
        engine, program = seconds(project(cluster, {"__main__.py": ""}).up), alone()
        whole = seconds(prod.up)
        unchanged = seconds(prod.up)
    row = [count, whole, engine, program, whole - engine - program, unchanged]
    say(table("`pulumi up` of prod from nothing, s", ("objects", "whole", "engine", "program", "provider and waiting", "second up"), [row]))
    return 0


if __name__ == "__main__":
    run_main(main)
