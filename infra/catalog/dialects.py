"""How families of models write tool calls and reasoning, and with which sampling they are to be used."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from interlock.infra.catalog.tables import table
from interlock.infra.values import Version

_FILE = "dialects.json"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One family's way."""

    family: str
    tool: str
    """Value of ``--tool-call-parser``; empty for none."""
    template: str
    """Path in the stock image of the chat template that tool calls need; empty where the checkpoint's own does."""
    reasoning: str
    """Value of ``--reasoning-parser``; empty for none."""
    thinks: str
    """Argument of the chat template by which the reasoning is switched off; empty for none."""
    sampling: Mapping[str, Any]
    """Sampling defaults of a quantized checkpoint beside its own."""
    sampling_since: str
    """First version of vLLM that takes these defaults."""
    why: str
    """Why these sampling defaults."""
    source: str
    """Who says so."""


@cache
def dialect_of(outer_type: str, model_type: str, name: str) -> Dialect | None:
    """The dialect of a model by its types (whole config, language model) and id; None where nothing is known."""
    plain = name.rsplit("/", 1)[-1].lower()
    for row in table(_FILE)["rows"]:
        if not {outer_type, model_type} & set(row["model_type"]) or ("name" in row and not re.search(row["name"], plain)):
            continue
        words = {name: row.get(name, "") for name in ("tool", "reasoning", "thinks", "sampling_since", "why")}
        template = f"{table(_FILE)['templates']}/{row['template']}" if "template" in row else ""
        return Dialect(family=row["family"], template=template, sampling=row.get("quantized_sampling", {}), source=row["source"], **words)
    return None


def registered(kind: Literal["tool", "reasoning"], name: str, version: str) -> bool:
    """Whether a version of vLLM surely registers a parser of that name; a release after the last one that was read counts as that."""
    found, span = Version.parse(version), table(_FILE)["parsers"][kind].get(name)
    if found is None or span is None:
        return False
    open_end = span["until"] == table(_FILE)["read"][-1]
    after = found.release >= _version(span["since"])
    return after and (open_end or found.release <= _version(span["until"]))


def _version(text: str) -> Version:
    found = Version.parse(text)
    if found is None:
        raise ValueError(f"{_FILE}: {text!r} is not a version")
    return found
