"""``interlock nodes``: simulated nodes for the local control plane."""

from argparse import ArgumentParser, Namespace

from interlock.cli.render import print_objects
from interlock.cli.stackfile import read_options, stack_arguments
from interlock.infra.manifests.simulated import simulated_nodes


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    stack_arguments(parser)


def run(options: Namespace) -> int:
    """Print simulated nodes for a stack's pools, for the local control plane."""
    print_objects(simulated_nodes(read_options(options).config.pools), as_json=options.json)
    return 0
