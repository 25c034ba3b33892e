"""Builds the Ray environment and prints its folder.

usage: python -m tools.ray_env
"""

from tools.common import run_main, say
from tools.ray_env import env


def main(arguments: list[str]) -> int:
    say(str(env.ensure()))
    return 0


if __name__ == "__main__":
    run_main(main)
