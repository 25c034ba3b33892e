"""How data files are written: one entry per line, and an entry that is too long for a line broken into its parts.

``python -m tools.datafile FILE ...`` rewrites JSON files in place; a file that is already written so stays as it is.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WIDTH = 330
"""Longest line of an entry. A text is never broken."""


def written(value: Any, depth: int = 0) -> str:
    """The value as JSON: the outermost object always broken, inner ones and lists where they pass the width."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (depth and len(line) + 2 * depth <= WIDTH):
        return line
    inner = "  " * (depth + 1)
    if isinstance(value, list):
        parts = [written(item, depth + 1) for item in value]
        return _block("[", parts, inner, "]", depth)
    parts = [f"{json.dumps(key, ensure_ascii=False)}: {written(item, depth + 1)}" for key, item in value.items()]
    return _block("{", parts, inner, "}", depth)


def _block(start: str, parts: Iterable[str], indent: str, end: str, depth: int) -> str:
    return f"{start}\n" + ",\n".join(indent + part for part in parts) + f"\n{'  ' * depth}{end}"


def main() -> int:
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(written(json.loads(path.read_text("utf-8"))) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
