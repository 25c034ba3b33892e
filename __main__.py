"""The Pulumi program: see stacks/program.py."""

from interlock.stacks.program import run

if __name__ == "__main__":
    run()
