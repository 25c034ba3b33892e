"""The ``interlock`` command. Exit codes: 0 done, 1 refused, 2 usage or configuration."""

import datetime as dt
import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.cli.check.command import check
from interlock.cli.size import size
from interlock.infra.errors import REFUSED, ConfigError, InterlockError, Problem

if TYPE_CHECKING:
    from interlock.cli.stackfile import StackFile

# What a command needs is imported when it runs: a check of one file pays for nothing that only stacks need.
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)

Stack = Annotated[str | None, typer.Option("--stack", "-s", help="Stack whose Pulumi.<stack>.yaml is read.")]
File = Annotated[Path | None, typer.Option("--file", "-f", help="Any YAML file with the configuration.")]
Deployer = Annotated[bool, typer.Option("--deployer", help="The role that deploys the stack, for an administrator to apply.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of tables.")]


@app.command("plan")
def show_plan(stack: Stack = None, file: File = None, as_json: AsJson = False) -> None:
    """Show what follows from a stack's configuration: pools, servers, GPUs, reasons, findings."""
    from interlock.cli.show import console, plan_tables
    from interlock.infra.preview import preview
    from interlock.infra.preview.offers import with_offers

    read = _read(stack, file)
    today = dt.date.today()
    made = with_offers(read.config, preview(read.config, read.stack, read.source, today=today), today)
    if as_json:
        print(made.model_dump_json(indent=2))
    else:
        console().print(plan_tables(made))
    if made.refused:
        raise typer.Exit(REFUSED)


@app.command("render")
def show_render(stack: Stack = None, file: File = None, deployer: Deployer = False, as_json: AsJson = False) -> None:
    """Print the Kubernetes objects of a stack. A refused plan prints its findings instead."""
    objects = rendered(_read(stack, file), deployer=deployer)
    print(json.dumps(objects, indent=2) if as_json else to_yaml(objects), end="" if not as_json else "\n")


@app.command("nodes")
def show_nodes(stack: Stack = None, file: File = None, as_json: AsJson = False) -> None:
    """Print simulated nodes for a stack's pools, for the local control plane."""
    from interlock.infra.manifests.simulated import simulated_nodes

    nodes = simulated_nodes(_read(stack, file).config.pools)
    print(json.dumps(nodes, indent=2) if as_json else to_yaml(nodes), end="" if not as_json else "\n")


@app.command("explain")
def explain(
    server: Annotated[str, typer.Argument(help="Name of a server.")], stack: Stack = None, file: File = None, as_json: AsJson = False
) -> None:
    """Show what fills the GPU of a server: every term with its interval, formula and source, and what would fit."""
    from interlock.cli.explain import render_budget
    from interlock.cli.show import console
    from interlock.infra.plan.servers import server_fit

    read = _read(stack, file)
    names = [each.name for each in read.config.servers]
    if server not in names:
        raise ConfigError(
            [Problem("SERVER", f"{server!r} is not a server of this stack; servers: {', '.join(names) or 'none'}", read.source)]
        )
    result = server_fit(read.config, names.index(server))
    if as_json:
        print(result.model_dump_json(indent=2))
    else:
        console().print(render_budget(result, server))


app.command("check")(check)
app.command("size")(size)


def _read(stack: str | None, file: Path | None) -> "StackFile":
    from interlock.cli.stackfile import read_stack

    return read_stack(stack, file)


def rendered(read: "StackFile", *, deployer: bool = False) -> list[dict[str, object]]:
    """The objects of a stack, or those of its deployer role. Raises RefusedError when its plan is refused."""
    from interlock.infra.errors import RefusedError
    from interlock.infra.manifests.deployer import deployer_objects
    from interlock.infra.manifests.render import render
    from interlock.infra.preview import preview

    made = preview(read.config, read.stack, read.source, today=dt.date.today())
    if made.refused:
        raise RefusedError("\n".join(finding.text() for finding in made.refused))
    return deployer_objects(read.config, made) if deployer else render(read.config, made)


def to_yaml(documents: list[dict[str, object]]) -> str:
    """Documents as multi-document YAML with stable key order."""
    import yaml

    return yaml.safe_dump_all(documents, sort_keys=False, explicit_start=True, width=140, allow_unicode=True)


def main() -> None:
    """Entry point: errors meant for users end in one message and their exit code, never in a traceback."""
    # Imports make many objects that live to the end: looking through them for garbage every 700 costs a tenth of a short command.
    gc.set_threshold(50_000)
    try:
        app()
    except InterlockError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
