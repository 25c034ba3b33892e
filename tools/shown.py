"""Output that the documents show below a command is what the command prints: compared by a test, written by `make golden`.

usage: python -m tools.shown

A shown output is the lines below a line ``$ interlock ...`` in a block marked ``console``, up to the next command or the block's end.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.common import ROOT, run_main, say

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^\$ (interlock [^\n]*)\n((?:(?!\$ )[^\n]*\n)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shown:
    """One command of a page and the output that the page shows for it."""

    page: Path
    command: str
    output: str


def pages() -> list[Path]:
    """Every document of the repository."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def shown(page: Path) -> list[Shown]:
    """The outputs that ``page`` shows; a command without output below it shows none."""
    blocks = BLOCK.findall(page.read_text("utf-8"))
    return [Shown(page, command, output) for block in blocks for command, output in SHOWN.findall(block)]


def printed(command: str) -> str:
    """What ``interlock ...`` prints, run in the repository."""
    words = shlex.split(command, comments=True)[1:]
    with tempfile.TemporaryDirectory() as empty:  # no model of this machine's own cache
        surroundings = {**os.environ, "HF_HUB_CACHE": empty}
        command_line = [sys.executable, "-m", "interlock.cli.main", *words]
        done = subprocess.run(command_line, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main(arguments: list[str]) -> int:
    """Writes every shown output anew."""
    del arguments
    for page in pages():
        text = before = page.read_text("utf-8")
        for each in shown(page):
            text = text.replace(f"$ {each.command}\n{each.output}", f"$ {each.command}\n{printed(each.command)}")
        if text != before:
            page.write_text(text, "utf-8")
            say(f"{page.relative_to(ROOT)}: shown output updated")
    return 0


if __name__ == "__main__":
    run_main(main)
