"""``interlock render``: the Kubernetes objects of a stack."""

import datetime as dt
import json
from argparse import ArgumentParser, Namespace
from typing import Any

import yaml

from interlock.cli.stackfile import StackFile, read_options, stack_arguments
from interlock.infra.errors import RefusedError
from interlock.infra.manifests.deployer import deployer_objects
from interlock.infra.preview import previewed


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    stack_arguments(parser)
    parser.add_argument("--deployer", action="store_true", help="the role that deploys the stack, for an administrator to apply")


def run(options: Namespace) -> int:
    """Print the Kubernetes objects of a stack. A refused plan prints its findings instead."""
    print_objects(_rendered(read_options(options), deployer=options.deployer), as_json=options.json)
    return 0


def _rendered(read: StackFile, *, deployer: bool) -> list[dict[str, Any]]:
    """The objects of a stack, or those of its deployer role. Raises RefusedError when its plan is refused."""
    made = previewed(read.config, read.stack, read.source, today=dt.date.today())
    if made.plan.refused:
        raise RefusedError("\n".join(finding.text() for finding in made.plan.refused))
    return deployer_objects(read.config, made.plan) if deployer else [draft.manifest for draft in made.objects.drafts]


def print_objects(documents: list[dict[str, Any]], *, as_json: bool) -> None:
    """Documents as one JSON list, or as multi-document YAML, with stable key order."""
    if as_json:
        print(json.dumps(documents, indent=2))
    else:
        print(yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True, width=140, allow_unicode=True), end="")
