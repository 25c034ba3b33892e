"""``interlock plan``: what follows from a stack's configuration."""

import datetime as dt
from argparse import ArgumentParser, Namespace

from interlock.cli.show import console, plan_tables
from interlock.cli.stackfile import read_options, stack_arguments
from interlock.infra.errors import REFUSED
from interlock.infra.preview import preview
from interlock.infra.preview.offers import with_offers


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    stack_arguments(parser)


def run(options: Namespace) -> int:
    """Show what follows from a stack's configuration: pools, servers, GPUs, reasons, findings."""
    read, today = read_options(options), dt.date.today()
    made = with_offers(read.config, preview(read.config, read.stack, read.source, today=today), today)
    if options.json:
        print(made.model_dump_json(indent=2))
    else:
        console().print(plan_tables(made))
    return REFUSED if made.refused else 0
