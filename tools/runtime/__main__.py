"""Writes the archive that pods run.

usage: python -m tools.runtime [OUT]
"""

from pathlib import Path

from interlock.infra.facts.supervisor import ARCHIVE
from interlock.infra.manifests.archive import archive
from tools.common import ROOT, run_main, say


def main(arguments: list[str]) -> int:
    out = Path(arguments[0]) if arguments else ROOT / "build" / ARCHIVE
    out.parent.mkdir(parents=True, exist_ok=True)
    packed = archive()
    out.write_bytes(packed)
    say(f"{out}: {len(packed)} bytes")
    return 0


if __name__ == "__main__":
    run_main(main)
