"""The Pulumi program: see stacks/program.py. Its imports live to the end; looking through them for garbage takes a fifth of their time."""

import gc

gc.set_threshold(50_000)
from interlock.stacks.program import run  # noqa: E402 - after the collector is slowed

if __name__ == "__main__":
    run()
