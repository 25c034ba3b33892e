"""``interlock rule``: what a finding's code means, why, since which source, and how the fault and its remedy look."""

import difflib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.resources import files

from interlock.cli.reading import load_text
from interlock.infra.catalog.near import nearest
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.rules.judge import RULES
from interlock.infra.rules.rule import Rule

EXAMPLES = "interlock.cli"
"""The package that holds ``examples/CODE.yaml``."""


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="code of a finding, such as GPU-001; without one all are listed")


def run(options: Namespace) -> int:
    """Explain a finding: what must hold and why, where that is known from, and a document with the fault beside one without."""
    if not options.code:
        print("\n".join(f"{rule.code:<10} {rule.severity:<8} {rule.demand}" for rule in RULES))
        return 0
    found = next((rule for rule in RULES if rule.code == options.code.upper()), None)
    if found is None:
        near = nearest(options.code.upper(), {rule.code: rule.code for rule in RULES})
        raise ConfigError([Problem("CODE", f"{options.code!r} is not the code of a rule{near}; interlock rule lists them")])
    print("\n".join(told(found)))
    return 0


def told(rule: Rule) -> Iterator[str]:
    """A rule for people, line by line."""
    own = f"; {rule.ours} in a stack's own configuration" if rule.ours else ""
    yield f"{rule.code}  {rule.severity}{own}" + (f"  ({rule.fault})" if rule.fault else "")
    yield rule.demand
    yield f"why:    {rule.reason}"
    yield f"fix:    {rule.remedy}"
    yield f"source: {rule.source}"
    yield from (f"        {link}" for link in rule.links)
    yield from (f"set:    {rule.code}.{name}: {value}" for name, value in rule.settings.items())
    yield f'        {rule.code}.severity: error, warning, info or "off"'
    yield from ("", "the fault (-) and its remedy (+):", "")
    yield from _difference(rule.code)


def _difference(code: str) -> Iterator[str]:
    given = load_text(files(EXAMPLES).joinpath("examples", f"{code}.yaml").read_text("utf-8"))
    for line in difflib.unified_diff(given["bad"].splitlines(), given["good"].splitlines(), n=4, lineterm=""):
        if not line.startswith(("---", "+++")):
            yield "  ..." if line.startswith("@@") else line
