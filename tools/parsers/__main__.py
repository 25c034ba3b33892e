"""Asks the real parsers about command lines of the plan, and prints those that they refuse and the plan does not.

usage: python -m tools.parsers [--count N] [--seed N] [VERSION ...]
"""

import argparse

from tools.common import run_main, say
from tools.parsers.asking import VERSIONS, answers, fetch
from tools.parsers.draws import Line, planned, stated


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.parsers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="stacks that are drawn for each version (500)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    options = parser.parse_args(arguments)
    fetch()
    lines = {version: [*planned(version, options.count, options.seed), *stated(version)] for version in options.versions}
    told = answers({version: [line.argv for line in each] for version, each in lines.items()})
    wrong = 0
    for version, each in lines.items():
        against = [(line, text) for line, text in zip(each, told[version], strict=True) if text]
        missed = [(line, text) for line, text in against if not line.refused()]
        say(f"{version}: {len(each)} command lines; {len(against)} refused by the parser, {len(missed)} of them not by the plan")
        say("".join(f"  {_shown(line)}\n    {text}\n" for line, text in missed).rstrip())
        wrong += len(missed)
    return min(wrong, 1)


def _shown(line: Line) -> str:
    return line.told or " ".join(line.argv)


if __name__ == "__main__":
    run_main(main)
