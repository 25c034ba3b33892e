"""Facts that our own objects carry in an annotation, and the reading of them: plan, policy pack and checker judge by the same."""

import json
from collections.abc import Mapping
from typing import Any

from interlock.infra.facts.bundle import Pool
from interlock.infra.facts.fact import Fact, absent, known
from interlock.infra.facts.origin import Origin
from interlock.infra.naming import label

FACTS = label("facts")
"""Annotation of Deployments and routes that this project made: JSON (docs/architecture.md)."""
PLACE = f'metadata.annotations["{FACTS}"]'


def carried(annotations: Mapping[str, str]) -> Mapping[str, Any]:
    """What an object carries; empty when it carries nothing that can be read."""
    try:
        found = json.loads(annotations.get(FACTS, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def part(data: Any, name: str, kind: type | tuple[type, ...], path: str) -> Fact[Any]:
    """One value of what is carried; absent when it is not there or of another type than ``kind``."""
    value = data.get(name) if isinstance(data, Mapping) else None
    right = isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)
    return known(value, f"{path}.{name}") if right else absent(f"{path}.{name}")


def carried_pool(data: Mapping[str, Any], origin: Origin, paths: Mapping[str, str] | None = None) -> Pool | None:
    """The pool that a workload names, with what it offers; None when it has no name. ``paths``: where each part was written."""

    def fact(name: str, kind: type | tuple[type, ...]) -> Fact[Any]:
        found = part(data, name, kind, f"{PLACE}.pool")
        return Fact(found.state, found.value, paths.get(name, found.path)) if paths else found

    name = data.get("name")
    if not isinstance(name, str):
        return None
    labels, taints, resource = data.get("labels"), data.get("taints"), data.get("resource")
    place = (paths or {}).get("labels", f"{PLACE}.pool.labels")
    return Pool(
        origin=origin,
        name=name,
        gpu=fact("gpu", str),
        resource=resource if isinstance(resource, str) else "nvidia.com/gpu",
        gpus_per_node=fact("units_per_node", int),
        nodes=fact("nodes", int),
        shares=fact("shares", int),
        sharing=fact("sharing", str),
        cpu=fact("cpu", (int, float)),
        memory=fact("memory_bytes", int),
        daemon_cpu=fact("daemon_cpu", (int, float)),
        daemon_memory=fact("daemon_memory_bytes", int),
        nvlink=fact("nvlink", bool),
        gpu_memory=fact("unit_memory_bytes", int),
        labels={key: known(str(value), place) for key, value in labels.items()} if isinstance(labels, dict) else {},
        domain=fact("domain", str),
        domain_nodes=fact("domain_nodes", int),
        notice=fact("notice_seconds", int),
        taints=tuple(map(str, taints)) if isinstance(taints, list) else (),
    )
