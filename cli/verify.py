"""``interlock verify``: a plan held against the cluster that it meets."""

import datetime as dt
import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from interlock.cli.reading.live import asked
from interlock.cli.stackfile import read_options, stack_arguments
from interlock.infra.errors import REFUSED
from interlock.infra.preview import previewed
from interlock.infra.preview.standing import differences_of
from interlock.infra.rules.findings import blocking
from interlock.infra.values import plural
from interlock.stacks.standing import cluster_state


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    stack_arguments(parser)


def run(options: Namespace) -> int:
    """Compare a stack's plan with its cluster: nodes, GPUs, taints, kinds, names, quotas, listeners. Changes nothing."""
    read = read_options(options)
    made = previewed(read.config, read.stack, read.source, today=dt.date.today())
    objects = [draft.manifest for draft in made.objects.drafts]
    state = asked(read, lambda api: cluster_state(api, read.stack, made.plan.namespace, objects))
    found = differences_of(made.plan, objects, state)
    stopped = blocking(found)
    if options.json:
        print(json.dumps({"stack": read.stack, "findings": [asdict(each) for each in found], "unread": dict(state.unread)}, indent=2))
        return REFUSED if stopped else 0
    for each in found:
        print(f"{each.text()}\n")
    for name, why in sorted(state.unread.items()):
        print(f"not looked at: {name}: {why}")
    looked = f"{plural(len(state.nodes), 'node')}, {plural(len(objects), 'object')}, {plural(len(state.there), 'name')}"
    print(f"stack {read.stack}: {looked} looked at; {plural(len(stopped), 'error')}, {plural(len(found) - len(stopped), 'warning')}")
    return REFUSED if stopped else 0
