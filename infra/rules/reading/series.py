"""Metric names in queries: which series of the engine an expression reads, and how they stand by version."""

import re

from interlock.infra.catalog.vllm_flags import metric_status
from interlock.infra.catalog.vllm_tables import Standing, Status, vllm_names
from interlock.infra.facts import Bundle

_SERIES = re.compile(r"(?<![A-Za-z0-9_:])((?:ray_)?vllm[:_][A-Za-z0-9_:]+)")
_LABEL = re.compile(r"\"[^\"]*\"|'[^']*'|\bby\s*\([^)]*\)|\bon\s*\([^)]*\)|\bwithout\s*\([^)]*\)")
_IN_NAME = re.compile(r"__name__\s*=~?\s*[\"']([^\"']*)[\"']")

FOREIGN = {
    "ray:actor_num_pending_tasks": "ray_tasks",
    "ray:actor_worker_utilization": "ray_actors",
    "container_gpu_memory_used_bytes": "DCGM_FI_DEV_FB_USED",
}
"""Names in widely read articles that nothing exports, with what to read instead (docs of Ray and DCGM)."""


def engine_series(query: str) -> list[str]:
    """Names of vLLM series in an expression, in order, without those inside label values."""
    stated = " ".join(_IN_NAME.findall(query))
    plain = _LABEL.sub(" ", query)
    return list(dict.fromkeys(_SERIES.findall(f"{plain} {stated}")))


def standing(name: str, version: str | None) -> Status:
    """How a series stands: in the stated version, else in the newest one."""
    status = metric_status(name, version)
    if version is None and status.standing is Standing.UNSURE:
        return metric_status(name, vllm_names("metrics").versions[-1])
    return status


def versions(bundle: Bundle) -> set[str]:
    """The vLLM versions of a set of documents, as far as they are known."""
    return {str(w.engine.version.value) for w in bundle.workloads if w.engine.name == "vllm" and w.engine.version.known}


def recorded(bundle: Bundle) -> set[str]:
    """Names that recording or adapter rules of the documents make."""
    return {query.text.get() for query in bundle.queries if query.use == "record" and query.text.known and " " not in query.text.get()}
