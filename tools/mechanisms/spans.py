"""Since and until of each relation: the first and the last version read in which the refusals that it stands for are in the source."""

import json
from collections.abc import Mapping
from pathlib import Path

from tools.common import ROOT, ToolError
from tools.mechanisms import python_source
from tools.mechanisms.rows import Table
from tools.vllm_facts.table import released

RELATIONS = ROOT / "infra" / "catalog" / "vllm_relations.json"
WORDED = ROOT / "tools" / "mechanisms" / "worded.json"
FILES = ("config/*.py", "config.py", "engine/arg_utils.py", "entrypoints/**/cli_args.py", "entrypoints/cli/serve.py")


def write(folder: Path, table: Table) -> int:
    """Sets the spans in vllm_relations.json from the versions in ``folder``; returns how many changed. Raises ToolError."""
    found = {each.name: _digests(each) for each in folder.iterdir() if (each / "vllm").is_dir()}
    versions = sorted(found, key=released)
    data = json.loads(RELATIONS.read_text(encoding="utf-8"))
    if not set(data["read"]) <= set(versions):
        raise ToolError(f"--spans: {folder} lacks {', '.join(sorted(set(data['read']) - set(versions)))}")
    told = _told(table)
    worded = json.loads(WORDED.read_text(encoding="utf-8"))["rows"]
    changed = 0
    for row in data["rows"]:
        since, until = span(told.get(row["id"], set()), found, versions, worded.get(row["id"], {}))
        changed += (row["since"], row["until"]) != (since, until)
        row["since"], row["until"] = since, until
    RELATIONS.write_text(text(data | {"read": versions}), encoding="utf-8")
    return changed


def span(ids: set[str], found: Mapping[str, set[str]], versions: list[str], hand: Mapping[str, str]) -> tuple[str, str]:
    """The last unbroken run of versions that have one of the refusals; ``hand``: bounds that were read by hand.

    ``since`` in ``hand`` reaches back to an older release that words the same refusal otherwise; ``floor`` cuts off releases
    in which a value that the row lists, or a default, is another one.
    """
    run: list[str] = []
    for version in reversed(versions):
        if found[version] & ids:
            run.insert(0, version)
        elif run:
            break
    if not run:
        return "", ""
    since = min(run[0], hand.get("since", run[0]), key=released)
    return max(since, hand.get("floor", since), key=released), run[-1]


def _told(table: Table) -> dict[str, set[str]]:
    told: dict[str, set[str]] = {}
    for row in table.rows:
        for name in row.covered.split():
            if name.startswith("relation:"):
                told.setdefault(name.removeprefix("relation:"), set()).add(row.id.split("::", 1)[1])
    return told


def _digests(folder: Path) -> set[str]:
    """Identifiers of all refusals of one version, without the file: files were moved."""
    top = folder / "vllm"
    paths = sorted({path for pattern in FILES for path in top.glob(pattern)})
    return {each.id.split("::", 1)[1] for path in paths for each in python_source.refusals(path, path.name)}


def text(data: dict[str, object]) -> str:
    """The file with one row, and one default, per line."""
    parts = []
    for key, value in data.items():
        if key == "rows" and isinstance(value, list):
            parts.append(' "rows": [\n' + ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in value) + "\n ]")
        elif key == "defaults" and isinstance(value, dict):
            lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items())
            parts.append(' "defaults": {\n' + lines + "\n }")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
