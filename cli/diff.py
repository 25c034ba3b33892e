"""``interlock diff``: what a change of a stack's configuration does."""

import datetime as dt
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from interlock.cli.reading.live import live
from interlock.cli.reading.revision import stack_at
from interlock.cli.report.changes import as_json, markdown, text
from interlock.cli.stackfile import StackFile, read_options, read_stack, read_yaml, stack_arguments
from interlock.infra.catalog.gpus import gpu, gpus
from interlock.infra.catalog.near import nearest
from interlock.infra.errors import REFUSED, ConfigError, Problem
from interlock.infra.preview import Previewed, previewed
from interlock.infra.preview.changes import Before, changes

LIVE = "live"
"""In place of a revision: what the cluster holds."""


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    stack_arguments(parser)
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--against", metavar="REVISION", help="before: a commit, branch or tag (default: HEAD), or live: the cluster")
    side.add_argument("--from", dest="before", metavar="PATH", type=Path, help="file with the configuration before")
    parser.add_argument("--markdown", action="store_true", help="a comment for a pull request")
    parser.add_argument("--prices", metavar="FILE", type=Path, help="YAML: price of one GPU for an hour, by the name of the GPU")


def run(options: Namespace) -> int:
    """Show what a deployment of the configuration does where that of a revision, or of another file, runs."""
    if options.json and options.markdown:
        raise ConfigError([Problem("--markdown", "and --json name two formats: keep one")])
    prices = read_prices(options.prices) if options.prices else {}
    after = read_options(options)
    file = options.file or Path(f"Pulumi.{options.stack}.yaml")
    against = str(options.before) if options.before else options.against or "HEAD"
    made = _previewed(after)
    if against == LIVE:
        there = live(after, [draft.manifest for draft in made.objects.drafts])
        for name, why in sorted(there.unread.items()):
            print(f"{name} cannot be read and is left out: {why}", file=sys.stderr)
        found = changes(Before(None, there.objects), made, prices, unread=there.lacks)
    else:
        before = read_stack(None, options.before) if options.before else stack_at(against, file)
        if before is None:
            print(f"{file.name} is not there at {against}: everything is new", file=sys.stderr)
        found = changes(Before.of(_previewed(replace(before, stack=after.stack))) if before else Before(), made, prices)
    form = as_json if options.json else markdown if options.markdown else text
    sys.stdout.write(form(found, after.stack, against).rstrip("\n") + "\n")
    return REFUSED if made.plan.refused else 0


def _previewed(read: StackFile) -> Previewed:
    return previewed(read.config, read.stack, read.source, today=dt.date.today())


def read_prices(path: Path) -> Mapping[str, float]:
    """A price table. Raises ConfigError for a file that is none, a GPU that is not known, and a price that is not a number."""
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise ConfigError([Problem("--prices", f"{path} must map names of GPUs to prices, such as h100-80gb-sxm: 2.5")])
    problems, prices = [], {}
    for name, price in data.items():
        known = gpu(str(name))
        if known is None:
            near = nearest(str(name), {each.name: each.name for each in gpus()})
            problems.append(Problem(str(name), f"is not a GPU of the catalog{near}", str(path)))
        elif not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < 1e6:
            problems.append(Problem(str(name), f"{price!r} is not a price for an hour: a number from 0", str(path)))
        else:
            prices[known.name] = float(price)
    if problems:
        raise ConfigError(problems)
    return prices
