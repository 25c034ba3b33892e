"""``interlock explain``: what fills the GPU of one server of a stack."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from interlock.cli.budget import render_budget
from interlock.cli.plot import write_plot
from interlock.cli.show import console
from interlock.cli.stackfile import read_options, stack_arguments
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.plan.servers import server_fit


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("server", metavar="SERVER", help="name of a server")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the card as a stacked bar with its uncertainty")
    stack_arguments(parser)


def run(options: Namespace) -> int:
    """Show what fills the GPU of a server: every term with its interval, formula and source, and what would fit."""
    read = read_options(options)
    names, server = [each.name for each in read.config.servers], options.server
    if server not in names:
        told = f"{server!r} is not a server of this stack; servers: {', '.join(names) or 'none'}"
        raise ConfigError([Problem("SERVER", told, read.source)])
    result = server_fit(read.config, names.index(server))
    if options.plot is not None:
        write_plot(options.plot, result, server)
    if options.json:
        print(result.to_json())
    else:
        console().print(render_budget(result, server))
    return 0
