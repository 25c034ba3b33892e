"""The local control plane.

usage: python -m tools.cluster up|down|status|nodes|extend|exec|env [--name NAME]
"""

import argparse
import os
import shlex
import sys
from pathlib import Path

from tools import build, pulumi_env, toolchain_families
from tools.cluster import extensions, lifecycle, nodes, processes
from tools.cluster.state import Cluster, everything, load
from tools.common import ToolError, run_main, say


def _up(options: argparse.Namespace) -> int:
    bin_folder = build.ensure(toolchain_families.select(["etcd", "kube", "kwok"], []))
    cluster, started = lifecycle.up(options.name, bin_folder, loopback=options.loopback, api_port=options.api_port)
    say(f"cluster {cluster.name} {'started' if started else 'runs already'}: {cluster.server}, context {cluster.context}")
    say(f"  export KUBECONFIG={cluster.kubeconfig}")
    if not cluster.namespace:
        say("  on loopback (no root, no iproute2 or --loopback): pod and service addresses are not reachable, everything else works")
    return 0


def _down(options: argparse.Namespace) -> int:
    removed = lifecycle.down(options.name)
    say(f"cluster {options.name}: " + (f"removed {', '.join(removed)}" if removed else "there was nothing"))
    return 0


def _status(options: argparse.Namespace) -> int:
    names = [options.name] if options.name else list(everything())
    if not names:
        say("no local cluster; `make up` starts one")
    worst = 0
    for name in names:
        cluster = load(name)
        dead = lifecycle.what_is_dead(cluster) if cluster else []
        worst = max(worst, 0 if cluster and not dead else 1)
        _describe(name, cluster, dead)
    return worst


def _describe(name: str, cluster: Cluster | None, dead: list[str]) -> None:
    if cluster is None:
        say(f"{name}: there is no such cluster")
        return
    say(f"{name}: {'dead: ' + ', '.join(dead) if dead else 'works'}; {cluster.server if cluster.ports else 'without a server'}")
    for program, process in cluster.processes.items():
        state = f"pid {process.pid}" if processes.alive(process) else "not running"
        say(f"  {program:<24} {state:<12} {cluster.folder / 'logs' / program}.log")


def _nodes(options: argparse.Namespace) -> int:
    source = "standard input" if options.file == "-" else options.file
    try:
        text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text()
    except OSError as error:
        raise ToolError(f"{source}: {error.strerror}") from error
    wanted = nodes.parse(text, source)
    count, removed = nodes.apply(lifecycle.running(options.name), wanted)
    say(f"{count} simulated node{'s are' if count != 1 else ' is'} ready" + (f"; removed {', '.join(removed)}" if removed else ""))
    return 0


def _extend(options: argparse.Namespace) -> int:
    names = extensions.install(lifecycle.running(options.name), build.ensure(toolchain_families.select(["kwok"], [])))
    say(f"cluster {options.name} has {', '.join(names)}, their controllers simulated")
    return 0


def _exec(options: argparse.Namespace) -> int:
    cluster = lifecycle.running(options.name)
    os.environ["KUBECONFIG"] = str(cluster.kubeconfig)
    command = [*cluster.enter(), *options.command]
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise ToolError(f"{options.command[0]}: {error.strerror}") from error


def _env(options: argparse.Namespace) -> int:
    cluster = lifecycle.running(options.name)
    bin_folder = build.ensure(toolchain_families.select([], ["up"]))
    for name, value in pulumi_env.variables(cluster, bin_folder).items():
        say(f"export {name}={shlex.quote(value)}")
    return 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.cluster", description="The local control plane.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, text in (
        ("up", _up, "start it, or say that it runs"),
        ("down", _down, "stop it and remove all of it, also after a crash"),
        ("status", _status, "say what runs (all clusters without --name); exit 1 when one is dead"),
        ("nodes", _nodes, "make the simulated nodes exactly those of a JSON file"),
        ("extend", _extend, "add Gateway API, KEDA and monitors, their controllers simulated (needs Go)"),
        ("exec", _exec, "run a command inside its network, where pod and service addresses are reachable"),
        ("env", _env, "print the variables with which kubectl and pulumi work on it, for eval"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        command.add_argument("--name", default=None if name == "status" else "dev", help="which cluster (dev)")
        if name == "up":
            command.add_argument("--loopback", action="store_true", help="no network namespace, also as root")
            command.add_argument("--api-port", type=int, help="the API server's port (6443 in a namespace, a free one on loopback)")
        if name == "nodes":
            command.add_argument("file", help="a file of Node objects in JSON, or - for standard input")
        if name == "exec":
            command.add_argument("command", nargs="+", help="the command, after --")
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    run_main(main)
