"""A config of the device plugin as its own parser, or its silence, takes it.

The plugin ignores what it does not know; here an unknown key is a problem, because it does not do what it seems to.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.infra.errors import Problem
from interlock.infra.manifests.plugin_config import facts
from interlock.infra.plan.shares import GPU

LARGEST_SHARE = 48
"""MPS serves at most 48 clients per device on Volta and later (NVIDIA MPS documentation); time-slicing has no limit of its own."""


def config_problems(config: Mapping[str, Any], path: str = "") -> list[Problem]:
    """Everything wrong with a device plugin config, as the plugin's own parser or its silence would have it."""
    return [*_unknown(config, "", (path,)), *_values(config, path), *_sharing(config.get("sharing"), path)]


def advertised(config: Mapping[str, Any], cards: int) -> int:
    """Units of ``nvidia.com/gpu`` that the plugin advertises for ``cards`` cards under ``config``: cards x replicas."""
    sharing = config.get("sharing") or {}
    rows = [row for kind in ("mps", "timeSlicing") for row in (sharing.get(kind) or {}).get("resources", ())]
    return cards * next((row["replicas"] for row in rows if row.get("name") == GPU), 1)


def _unknown(value: Any, place: str, path: tuple[str, ...]) -> Iterator[Problem]:
    """``place`` is the key of the table, ``path`` where the value stands."""
    known = facts()["keys"].get(place)
    if known is None or not isinstance(value, Mapping):
        return
    for key, item in value.items():
        here = (*path, key)
        if key not in known:
            text = f"the plugin does not know this key and ignores it; known here: {', '.join(known)}"
            yield Problem(".".join(part for part in here if part), text)
        elif isinstance(item, list) and key == "resources":
            for index, row in enumerate(item):
                yield from _unknown(row, "sharing.*.resources[]", (*path, f"{key}[{index}]"))
        else:
            yield from _unknown(item, f"{place}.{key}".strip("."), here)


def _values(config: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if config.get("version") != "v1":
        yield Problem(_join(path, "", "version"), f"{config.get('version')!r} is not a version that the plugin reads; write v1")
    if config.get("resources"):
        yield Problem(_join(path, "", "resources"), "the plugin ignores it: resource names cannot be changed there")
    flags = config.get("flags") or {}
    given = {**flags, **(flags.get("plugin") or {})}
    for name, allowed in facts()["strategies"].items():
        if name in given and given[name] not in allowed:
            yield Problem(_join(path, "flags", name), f"{given[name]!r} is not one of {', '.join(allowed)}")
    listed = given.get("deviceListStrategy", [])
    for strategy in [listed] if isinstance(listed, str) else listed:
        if strategy not in facts()["device_list_strategies"]:
            text = f"{strategy!r} is not one of {', '.join(facts()['device_list_strategies'])}"
            yield Problem(_join(path, "flags.plugin", "deviceListStrategy"), text)


def _sharing(sharing: Any, path: str) -> Iterator[Problem]:
    if not isinstance(sharing, Mapping):
        return
    if sharing.get("mps") and sharing.get("timeSlicing"):
        yield Problem(_join(path, "", "sharing"), "time-slicing and MPS exclude each other; the plugin takes MPS and drops the other")
    for kind in ("timeSlicing", "mps"):
        rows = (sharing.get(kind) or {}).get("resources")
        if kind in sharing and not rows:
            yield Problem(_join(path, f"sharing.{kind}", "resources"), "no resources specified: the plugin does not start")
        for index, row in enumerate(rows or ()):
            yield from _replicas(row, kind, _join(path, f"sharing.{kind}", f"resources[{index}]"))


def _replicas(row: Mapping[str, Any], kind: str, place: str) -> Iterator[Problem]:
    for field in facts()["ignored"]:
        if field in row:
            yield Problem(f"{place}.{field}", "the plugin reads it and ignores it; remove it")
    replicas, name = row.get("replicas"), str(row.get("name", ""))
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 2:
        yield Problem(f"{place}.replicas", f"{replicas!r} shares nothing; at least 2")
    elif kind == "mps" and replicas > LARGEST_SHARE:
        yield Problem(f"{place}.replicas", f"{replicas} is more than {LARGEST_SHARE}, the clients that MPS serves on one card")
    if name != GPU and not (name.startswith("nvidia.com/mig-") and kind == "timeSlicing"):
        possible = f"{GPU} or a nvidia.com/mig-... resource" if kind == "timeSlicing" else GPU
        yield Problem(f"{place}.name", f"{name!r} cannot be shared by {kind}; only {possible}")


def _join(path: str, place: str, key: str) -> str:
    return ".".join(part for part in (path, place, key) if part)
