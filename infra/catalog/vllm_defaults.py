"""Defaults of vLLM that depend on the device: batches by memory, models that the V2 runner took first."""

from interlock.infra.catalog.tables import table
from interlock.infra.catalog.versions import since
from interlock.infra.values import Version

_FILE = "vllm_defaults.json"


def batch_defaults(version: Version, memory_gib: float, gpu_name: str, capability: float | None) -> tuple[int, int, int]:
    """(batched tokens of a server, of the offline class, sequences) for a device
    (vLLM: ``engine/arg_utils.py::get_batch_defaults``)."""
    for row in table(_FILE)["batches"]:
        if memory_gib < row["memory_gib"] or ("needs" in row and not since(row["needs"], version)):
            continue
        if any(word in gpu_name.lower() for word in row.get("not_names", ())) or capability == row.get("not_capability", -1):
            continue
        return int(row["server"]), int(row["offline"]), int(row["sequences"])
    return 2048, 8192, 256


def v2_architectures() -> frozenset[str]:
    """MoE architectures that the V2 model runner took before it took everything."""
    return frozenset(table(_FILE)["v2_dense_and"])
