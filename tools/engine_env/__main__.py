"""Builds the engine environment and prints its folder, or writes a tiny model and prints where.

usage: python -m tools.engine_env [--model FAMILY]
"""

import argparse

from tools.common import run_main, say
from tools.engine_env import env
from tools.engine_env.make_model import FAMILIES


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.engine_env", description="The real vLLM on a CPU, in an environment of its own.")
    parser.add_argument("--model", choices=sorted(FAMILIES), help="also write this tiny model, and print its folder instead")
    options = parser.parse_args(arguments)
    folder = env.ensure()
    say(str(env.model(folder, options.model) if options.model else folder))
    return 0


if __name__ == "__main__":
    run_main(main)
