"""Parts between clients and engines that cut running answers when they end: which are there, and how long each waits."""

import re
from collections.abc import Iterator
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.facts import Drain, Origin
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.workloads import templates


def _rows(key: str) -> list[dict[str, Any]]:
    return [row for row in table("drains.json")["parts"] if key in row]


def read_drains(root: Node, document: Document, context: Context) -> Iterator[Drain]:
    """Those that an object states, or has by default."""
    source = origin(root, document)
    for row in _rows("object"):
        kind, place = row["object"]
        if kind == source.kind:
            yield Drain(source, row["part"], row["setting"], root.at(*place.split(".")).duration(), f"{root.path}{place}", row["seconds"])
    for template in templates(root):
        yield from _of_pod(template.spec, source)


def _of_pod(spec: Node, source: Origin) -> Iterator[Drain]:
    grace = spec["terminationGracePeriodSeconds"]
    for container in spec["containers"].items():
        for row in _rows("image"):
            if re.search(row["image"], container["image"].string()):
                place = f"{spec.path}.terminationGracePeriodSeconds"
                yield Drain(source, row["part"], row["setting"], grace.number(), place, row["seconds"])
        variables = {each["name"].string(): each["value"] for each in container["env"].items()}
        for row in _rows("env"):
            stated, switch = variables.get(row["env"]), variables.get(row["switch"])
            if stated is not None:
                yield Drain(source, row["part"], row["setting"], stated.duration(), stated.path, row["seconds"])
            elif switch is not None and switch.string() == "1":
                yield Drain(source, row["part"], row["setting"], path=switch.path, default=row["seconds"])
