"""Rebuild infra/catalog/vllm_{flags,metrics,env}.json: python -m tools.vllm_facts TREES, one unpacked wheel per folder TREES/VERSION.

`--fetch VERSION ...` fetches the wheels' Python files first. A version without a
manylinux wheel is left out; the loader then says "unsure" where its neighbours differ.
"""

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

from tools.datafile import written
from tools.vllm_facts.env import environment
from tools.vllm_facts.flags import serve_flags
from tools.vllm_facts.metrics import metrics
from tools.vllm_facts.source import Source
from tools.vllm_facts.table import Row, env_row, flag_row, metric_key, metric_row, released, spans
from tools.wheels import python_files

CATALOG = Path(__file__).parents[2] / "infra" / "catalog"


def write(path: Path, head: dict[str, Any], tables: dict[str, dict[str, Any]]) -> None:
    """A table and what is said about it, one line per name, so that a new version is a readable diff."""
    path.write_text(written({**head, **tables}) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.vllm_facts", description=__doc__)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--fetch", nargs="*", default=[])
    options = parser.parse_args()
    for version in options.fetch:
        python_files("vllm", version, options.trees / version)
    versions = sorted((p.name for p in options.trees.iterdir() if (p / "vllm").is_dir()), key=released)
    sources = {v: Source(options.trees / v) for v in versions}
    rows: dict[str, dict[str, dict[str, Row]]] = {
        "flags": {v: {k: flag_row(f) for k, f in serve_flags(s).items()} for v, s in sources.items()},
        "env": {v: {k: env_row(f) for k, f in environment(s).items()} for v, s in sources.items()},
        "metrics": {v: {metric_key(k, m): metric_row(m) for k, m in metrics(s).items()} for v, s in sources.items()},
    }
    replacements = json.loads((Path(__file__).parent / "replacements.json").read_text(encoding="utf-8"))
    head = {
        "source": "Python files of the vLLM wheels on PyPI, read without running them (tools/vllm_facts)",
        "date": str(datetime.date.today()),
        "versions": versions,
    }
    for kind, table in rows.items():
        folded = spans(table)
        write(CATALOG / f"vllm_{kind}.json", head, {kind: folded, "replacements": replacements[kind]})
        print(f"vllm_{kind}.json: {len(versions)} versions, {len(folded)} names")


if __name__ == "__main__":
    main()
