"""Pod Security: what the level of a namespace asks of the containers of its pods."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.facts import Bundle, Container, Fact, Pod, Workload
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.rules.sto_placement import OPEN, security_level

_RESTRICTED = "restricted"


@rule(
    "SEC-015",
    Severity.ERROR,
    demand="The containers of a pod are as the Pod Security level of their namespace asks.",
    reason="The API server refuses every pod, and the Deployment stays empty.",
    source="infra/catalog/pod_security.json: k8s.io/pod-security-admission v0.37.2, policy/check_*.go",
    remedy="State what the level asks in the security context.",
    fault="pod-security-level",
    links=("https://kubernetes.io/docs/concepts/security/pod-security-standards/",),
)
def as_the_level_asks(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    level = security_level(workload, bundle)
    # What an operator puts into its pods cannot be seen, nor who else it starts.
    if level in ("", OPEN) or workload.operator_adds or workload.ray is not None:
        return
    space = f"namespace {workload.origin.namespace} enforces {level}"
    for pod in (each for each in workload.pods if not each.open):
        yield from (hit for row in table("pod_security.json")["rows"] for hit in _against(row, pod, level, space, bundle.closed))
        for volume in pod.volumes if level == _RESTRICTED else ():
            if volume.kind in table("pod_security.json")["volumes_forbidden"]:
                text = f"volume {volume.name} is of kind {volume.kind}, and {space}"
                yield Hit(volume.path, text, "use a claim on a PersistentVolume of that kind", volume.kind)


def _against(row: Mapping[str, Any], pod: Pod, level: str, space: str, closed: bool) -> Iterator[Hit]:
    """One finding for what a row asks, at the first container that is not so."""
    if row["level"] == _RESTRICTED != level or (row.get("namespaced") and pod.own_users):
        return
    of, boxes = row["of"], [*pod.containers, *([pod.preflight] if pod.preflight else [])]
    wrong = [(box, fact) for box in boxes if _refused(fact := box.security.get(of, Fact()), row, box)]
    if not wrong:
        return
    box, fact = wrong[0]
    names = ", ".join(each.name for each, _ in wrong)
    said = f"{of} is {fact.get() or 'empty'}" if fact.known else f"{of} is not stated"
    text = f"{said} in {names}, and {space}, which {_asks(row)}"
    path = fact.path or box.path
    # A webhook may add what nobody states before the level is asked; in a stack of ours nothing does.
    level_of = Severity.ERROR if fact.known or closed else Severity.WARNING
    yield Hit(path, text, _remedy(row), fact.value or "", severity=level_of, fixes=_changes(row, wrong))


def _refused(fact: Fact[str], row: Mapping[str, Any], box: Container) -> bool:
    if "" in box.security or fact.unknown:
        return False
    words = set(filter(None, (fact.value or "").split(",")))
    if "asked" in row:
        return fact.value not in row["asked"]
    if "holds" in row:
        return row["holds"] not in words
    return bool(words & set(row.get("forbidden", ()))) or ("allowed" in row and not words <= set(row["allowed"]))


def _asks(row: Mapping[str, Any]) -> str:
    if "asked" in row:
        return f"asks for {' or '.join(row['asked'])}"
    if "holds" in row:
        return f"asks for {row['holds']} in it"
    return f"forbids {', '.join(row['forbidden'])}" if "forbidden" in row else f"allows only {', '.join(row['allowed'])}"


def _remedy(row: Mapping[str, Any]) -> str:
    of = row["of"]
    if "asked" in row:
        return f"write {of}: {row['asked'][0]} into the security context of each container"
    if "holds" in row:
        return f"add {row['holds']} to {of} of each container"
    return f"keep {of} to what the level allows" if "." in of else f"remove {of}, or use a namespace of a lower level"


def _changes(row: Mapping[str, Any], wrong: list[tuple[Container, Fact[str]]]) -> tuple[Fix, ...]:
    """The remedy as changes, where a field has one value."""
    of, asked = row["of"], row.get("asked")
    if "." in of and not asked:
        return ()
    if asked is None:
        return tuple(fix for _, fact in wrong for fix in drop(fact.path))
    value = {"true": True, "false": False}.get(asked[0], asked[0])
    return tuple(fix for box, _ in wrong for fix in put(f"{box.path}.securityContext.{of}", value))
