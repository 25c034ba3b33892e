"""Which KV connectors switch the hybrid KV cache manager off, or may."""

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.catalog.versions import newest, since
from interlock.infra.values import Version


def unmanaged(transfer: Mapping[str, Any], version: Version | None = None) -> tuple[str, ...]:
    """The connectors of a ``--kv-transfer-config`` with which vLLM switches the hybrid KV cache manager off; none where it stays, or
    where a connector of somebody's own module decides. ``version``: the newest one that was read when None."""
    names, release = tuple(dict.fromkeys(_members(transfer, 0))), version or newest()
    if not since("hybrid_manager", release):
        return ()
    without = table("kv_connectors.json")["without"]
    return tuple(
        name for name in names if not since("hybrid_by_connector", release) or (name in without and not _has(without[name], release))
    )


def brought(transfer: Mapping[str, Any], version: Version | None = None) -> Mapping[str, Mapping[str, str]]:
    """The connectors of which a package in the image decides whether the manager stays on, with their rows of the table."""
    rows: Mapping[str, Mapping[str, str]] = table("kv_connectors.json")["elsewhere"]
    decided = since("hybrid_by_connector", version or newest())
    return {name: rows[name] for name in _members(transfer, 0) if decided and name in rows}


def _has(first: str | None, release: Version) -> bool:
    """Whether a version is the ``first`` one that has something, or a later one."""
    start = Version.parse(first or "")
    return start is not None and start <= release.release


def _members(transfer: Mapping[str, Any], depth: int) -> Iterator[str]:
    name, more = transfer.get("kv_connector"), transfer.get("kv_connector_extra_config")
    if transfer.get("kv_connector_module_path") or not isinstance(name, str) or depth > 4:
        return
    members = more.get("connectors") if name == "MultiConnector" and isinstance(more, Mapping) else None
    if not isinstance(members, list):
        yield name
        return
    for member in members:
        if isinstance(member, Mapping):
            yield from _members(member, depth + 1)
