"""``python -m interlock.runtime``: the archive's commands from the tree."""

import sys

from interlock.runtime.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
