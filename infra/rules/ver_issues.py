"""Known faults of single vLLM versions, as a table of conditions."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.facts import Bundle, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import pod_count, pod_units, switched_on, where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.values import Version


def _env(workload: Workload, bundle: Bundle, names: list[str]) -> bool:
    return all(switched_on(workload.engine.env.get(name, Fact())) for name in names)


def _flag(workload: Workload, bundle: Bundle, wanted: Mapping[str, str]) -> bool:
    for name, value in wanted.items():
        given = workload.engine.flag(name)
        if not given.known or (given.get() == "1" if value == "other than 1" else given.get() != value):
            return False
    return True


def _model(workload: Workload, bundle: Bundle, kind: str) -> bool:
    return kind == "local" and workload.engine.model.known and workload.engine.model.get().startswith("/")


def _driver(workload: Workload, bundle: Bundle, least: int) -> bool:
    pool = bundle.pool(workload)
    found = re.match(r"\d+", str(pool.driver.value)) if pool and pool.driver.known else None
    return found is not None and int(found.group()) >= least


def _spans_nodes(workload: Workload, bundle: Bundle, wanted: bool) -> bool:
    holding = [pod_count(pod).value or 1 for pod in workload.pods if (pod_units(workload, pod).value or 0) > 0]
    sizes = (workload.engine.tensor_parallel, workload.engine.pipeline_parallel)
    world = 1
    for size in sizes:
        world *= size.value if size.known and size.value else 1
    each = max((pod_units(workload, pod).value or 0 for pod in workload.pods), default=0)
    return wanted == (sum(holding) > 1 and world > each)


def _lacks_flag(workload: Workload, bundle: Bundle, name: str) -> bool:
    return workload.engine.flag(name).absent


def _lacks_env(workload: Workload, bundle: Bundle, name: str) -> bool:
    return name not in workload.engine.env


_CONDITIONS: Mapping[str, Callable[[Workload, Bundle, Any], bool]] = {
    "env": _env,
    "flag": _flag,
    "model": _model,
    "driver": _driver,
    "spans_nodes": _spans_nodes,
    "lacks_flag": _lacks_flag,
    "lacks_env": _lacks_env,
}


@rule(
    "VER-005",
    Severity.WARNING,
    demand="Nothing that is used here is broken in this version.",
    reason="A known fault of one release, with a way around it.",
    source="infra/catalog/known_issues.json (one public report per row)",
    remedy="Follow the row's advice, or pin another version.",
    links=("https://github.com/vllm-project/vllm/releases",),
)
def known_issues(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    version = workload.engine.release
    if version is None:
        return
    for issue in table("known_issues.json")["issues"]:
        first, after = Version.released(issue.get("since", "0.0")), Version.released(issue.get("before", "99.0"))
        if first is None or after is None or not first <= version < after:
            continue
        if all(holds(workload, bundle, issue[name]) for name, holds in _CONDITIONS.items() if name in issue):
            text = f"vLLM {workload.engine.version.value}: {issue['text']} ({issue['source']})"
            path = workload.engine.version.path or where(workload, Place.IMAGE)
            yield Hit(path, text, issue["remedy"], str(workload.engine.version.value), severity=Severity(issue["severity"]))
