"""Builds the images for a real node and prints the containerd root that holds them.

usage: python -m tools.images
"""

from tools import build, toolchain_families
from tools.common import run_main, say
from tools.images import store


def main(arguments: list[str]) -> int:
    del arguments
    say(str(store.ensure(build.ensure(toolchain_families.select([], ["node"])))))
    return 0


if __name__ == "__main__":
    run_main(main)
