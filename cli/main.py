"""The ``interlock`` command. Exit codes: 0 done, 1 refused, 2 usage or configuration.

Built on the standard library's parser, and a command's module is imported when it is called: a check of one file, which an editor or a
hook runs on every save, pays for no room that it does not need.
"""

import gc
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from importlib import import_module

from interlock.infra.errors import USAGE, InterlockError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "plan": ("interlock.cli.plan", "what follows from a stack's configuration"),
    "render": ("interlock.cli.render", "the Kubernetes objects of a stack"),
    "nodes": ("interlock.cli.nodes", "simulated nodes for a stack's pools"),
    "diff": ("interlock.cli.diff", "what a change of a stack's configuration does: objects, GPUs, restarts, keys, cost"),
    "verify": ("interlock.cli.verify", "whether the cluster is as a stack's plan takes it to be: nodes, GPUs, kinds, names, quotas"),
    "explain": ("interlock.cli.explain", "what fills the GPU of a server"),
    "check": ("interlock.cli.check.command", "what breaks LLM serving in any Kubernetes YAML"),
    "rule": ("interlock.cli.rule", "what a finding means: reason, source, a bad and a good example"),
    "rollback": ("interlock.cli.rollback", "a server as it was in the last good update of its stack"),
    "size": ("interlock.cli.size", "whether a model fits a GPU"),
}
"""By name: the module, with ``arguments(parser)`` and ``run(options)``, which returns the exit code, and one line for the help."""


def main(words: Sequence[str] | None = None) -> None:
    """Entry point: errors meant for users end in one message and their exit code, never in a traceback."""
    # Imports make many objects that live to the end: looking through them for garbage every 700 costs a tenth of a short command.
    gc.set_threshold(50_000)
    try:
        sys.exit(_run(list(sys.argv[1:] if words is None else words)))
    except InterlockError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0 if words else USAGE
    name = words[0]
    if name not in COMMANDS:
        from interlock.infra.catalog.near import nearest

        near = nearest(name, {each: each for each in COMMANDS})
        print(f"interlock: {name!r} is not a command{near}; interlock --help lists them", file=sys.stderr)
        return USAGE
    module = import_module(COMMANDS[name][0])
    parser = ArgumentParser(f"interlock {name}", description=module.run.__doc__, allow_abbrev=False)
    module.arguments(parser)
    code: int = module.run(parser.parse_intermixed_args(words[1:]))
    return code


def _help() -> str:
    lines = [f"  {name:<8} {told}" for name, (_, told) in COMMANDS.items()]
    usage = "usage: interlock COMMAND ...; interlock COMMAND --help tells its options"
    return "\n".join([usage, "", *lines, "", "Ends with 0 when done, 1 when refused, 2 for wrong usage or configuration."])


if __name__ == "__main__":
    main()
