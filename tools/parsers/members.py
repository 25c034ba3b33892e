"""Rebuild infra/catalog/vllm_members.json: python -m tools.parsers.members.

Some arguments are JSON objects of a class of vLLM's, which refuses keys that it does not have. Its fields are read, and each is tried on
the parser of every version: a version may still take an older name.
"""

import datetime
import json

from tools.common import run_main, say
from tools.parsers.asking import Argv, answers, fetch, fields
from tools.vllm_facts.__main__ import CATALOG, write
from tools.vllm_facts.table import Row, spans

NONE = "no_such_key"
TEXTS = ("reasoning-effort-map",)
"""Arguments whose values are texts: without one the parser looks at no key."""
SOURCE = "fields of the classes of vLLM's arguments, each tried on the parser of each version (tools/parsers/members.py)"

_GRAPHS = "warnings of vllm/config/compilation.py in 0.10.2"
RENAMED: dict[str, dict[str, str]] = {
    "compilation-config level": {"to": "mode", "source": "vllm/config/compilation.py in 0.11.2: the field level is deprecated for mode"},
    "compilation-config full_cuda_graph": {"to": "cudagraph_mode", "source": _GRAPHS},
    "compilation-config use_cudagraph": {"to": "cudagraph_mode", "source": _GRAPHS},
    "pooler-config normalize": {"to": "use_activation", "source": "vllm/config/pooler.py: Parameter `normalize` was removed"},
}
"""Keys that older releases had, and what says the same today."""


def main(arguments: list[str]) -> int:
    fetch()
    found = fields()
    every: dict[str, set[str]] = {}
    for flags in found.values():
        for flag, names in flags.items():
            every.setdefault(flag, {NONE}).update(names)
    asked = {version: [(flag, key) for flag in flags for key in sorted(every[flag])] for version, flags in found.items()}
    told = answers({version: [_line(*pair) for pair in pairs] for version, pairs in asked.items()})
    taken: dict[str, set[tuple[str, str]]] = {
        version: {pair for pair, text in zip(asked[version], told[version], strict=True) if not _unexpected(pair[1], text)}
        for version in found
    }
    # A class that takes any key somewhere is not judged.
    lenient = {flag for pairs in taken.values() for flag, key in pairs if key == NONE}
    rows: dict[str, dict[str, Row]] = {
        version: {f"{flag} {key}": {} for flag, key in pairs if flag not in lenient} for version, pairs in taken.items()
    }
    head = {"source": SOURCE, "date": str(datetime.date.today()), "versions": list(found)}
    write(CATALOG / "vllm_members.json", head, {"members": spans(rows), "replacements": RENAMED})
    say(f"vllm_members.json: {len(every) - len(lenient)} arguments; not judged: {', '.join(sorted(lenient)) or 'none'}")
    return 0


def _line(flag: str, key: str) -> Argv:
    return ("some/model", f"--{flag}", json.dumps({key: "none" if flag in TEXTS else None}))


def _unexpected(key: str, text: str) -> bool:
    return f"\n{key}\n  Unexpected keyword argument" in text or f"unknown efforts ['{key}']" in text


if __name__ == "__main__":
    run_main(main)
