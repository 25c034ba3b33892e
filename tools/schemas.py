"""Writes the JSON schemas of what people write and what other teams read: docs/config.schema.json and docs/outputs.schema.json.

usage: python -m tools.schemas [--check]

The outputs are a contract: a change of its shape under the same version is refused.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from interlock.infra import described
from interlock.infra.config import ClusterConfig
from interlock.stacks.outputs import StackOutputs
from tools.common import ROOT, ToolError, run_main, say

DOCS = ROOT / "docs"
SPOKEN = ("title", "description")


def schema(model: type[BaseModel], title: str, mode: str) -> dict[str, Any]:
    """The JSON schema of ``model``, keys in a stable order."""
    made = described.schema(model, "serialization" if mode == "outputs" else "validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": title}


def shape(value: Any) -> Any:
    """A schema without the words for people: what a consumer depends on."""
    if isinstance(value, dict):
        # A field may be called ``title``: its schema is a mapping, the words are texts.
        return {key: shape(item) for key, item in value.items() if not (key in SPOKEN and isinstance(item, str))}
    return [shape(item) for item in value] if isinstance(value, list) else value


def check_contract(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raises ToolError (code 1) when the shape of the outputs changed and their version did not."""
    version = new["properties"]["version"]["const"]
    if old["properties"]["version"]["const"] == version and shape(old) != shape(new):
        raise ToolError(
            f"the outputs changed, and their version is still {version}: other teams read them by it. "
            "Raise `version` in StackOutputs (stacks/outputs.py), say in docs/outputs.md what changed, and run this again.",
            1,
        )


def schemas() -> dict[Path, dict[str, Any]]:
    """Every schema by its file."""
    return {
        DOCS / "config.schema.json": schema(ClusterConfig, "interlock:cluster", "config"),
        DOCS / "outputs.schema.json": schema(StackOutputs, "Stack output interlock", "outputs"),
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.schemas", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is not up to date")
    options = parser.parse_args(arguments)
    stale = []
    for path, made in schemas().items():
        text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
        old = path.read_text("utf-8") if path.exists() else ""
        if old and path.name.startswith("outputs"):
            check_contract(json.loads(old), made)
        if old == text:
            continue
        stale.append(path.name)
        if not options.check:
            path.write_text(text, "utf-8")
            say(f"wrote {path.relative_to(ROOT)}")
    if stale and options.check:
        raise ToolError(f"not up to date: {', '.join(stale)}; run `python -m tools.schemas`", 1)
    return 0


if __name__ == "__main__":
    run_main(main)
