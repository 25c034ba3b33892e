"""``interlock plan``: what follows from a stack's configuration."""

import datetime as dt
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from interlock.cli.show import console, plan_tables
from interlock.cli.stackfile import StackFile, read_options, stack_arguments
from interlock.infra.catalog.near import nearest
from interlock.infra.errors import REFUSED, ConfigError, Problem
from interlock.infra.plan.servers import server_fits
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from interlock.infra.preview.offers import with_offers


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    stack_arguments(parser)
    told = "tell every number of this server with its reason; may be given several times"
    parser.add_argument("--why", metavar="SERVER", action="append", default=[], help=told)
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the plan as one page for a browser")


def run(options: Namespace) -> int:
    """Show what follows from a stack's configuration: pools, servers, GPUs, what costs most, findings."""
    read, today = read_options(options), dt.date.today()
    _known(options.why, read)
    made = with_offers(read.config, preview(read.config, read.stack, read.source, today=today), today)
    if options.html:
        _write_page(options.html, made, read)
    if options.json:
        print(made.model_dump_json(indent=2))
    elif options.html:
        print(f"{options.html}: {'refused' if made.refused else 'nothing is refused'}")
    else:
        console().print(plan_tables(made, server_fits(read.config), options.why, today=today))
    return REFUSED if made.refused else 0


def _known(names: Sequence[str], read: StackFile) -> None:
    servers = {each.name: each.name for each in read.config.servers}
    unknown = [
        Problem("--why", f"{name!r} is not a server of this stack{nearest(name, servers)}; servers: {', '.join(servers) or 'none'}")
        for name in names
        if name not in servers
    ]
    if unknown:
        raise ConfigError(unknown)


def _write_page(path: Path, made: ClusterPlan, read: StackFile) -> None:
    """The page, loaded only when one is asked for. Raises ConfigError where it cannot be written."""
    from interlock.cli.page import page

    try:
        path.write_text(page(made, server_fits(read.config)), "utf-8")
    except OSError as error:
        raise ConfigError([Problem("--html", f"{path} cannot be written: {error.strerror}")]) from None
