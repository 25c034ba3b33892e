"""Faults of the document itself, as the reader found them: one rule per kind of fault."""

from collections.abc import Callable, Iterable

from interlock.infra.facts import Bundle
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.rule import Hit, Rule, Settings

_KINDS = (
    # code, kind, severity, demand, what happens, usual way out
    ("DOC-001", "yaml-invalid", "error", "A file is valid YAML.", "Nothing of it is applied.", "Repair the syntax at the place named."),
    (
        "DOC-002",
        "schema-broken",
        "error",
        "Fields have the type that the API asks for.",
        "The API server refuses the object.",
        "Correct the type.",
    ),
    (
        "DOC-003",
        "dup-key",
        "warning",
        "A key is given once.",
        "The last one wins without a word, or strict readers refuse.",
        "Keep one of them.",
    ),
    (
        "DOC-004",
        "schema-typo",
        "warning",
        "Field names are those of the API.",
        "kubectl refuses or drops it, so it has no effect.",
        "Correct the name.",
    ),
    (
        "DOC-005",
        "schema-misplaced",
        "warning",
        "A field stands where the API reads it.",
        "It has no effect there.",
        "Move it to its place.",
    ),
    (
        "DOC-006",
        "template-leftover",
        "warning",
        "No template text is left over.",
        "The text itself becomes the value.",
        "Render the template.",
    ),
    ("DOC-007", "placeholder", "warning", "No placeholder is left over.", "The text itself becomes the value.", "Fill it in."),
    (
        "DOC-008",
        "embedded-yaml-broken",
        "warning",
        "YAML inside a text is valid.",
        "The program that reads it fails or ignores it.",
        "Repair the text.",
    ),
)


def _of_kind(kind: str, remedy: str) -> Callable[[Bundle, Settings], Iterable[Hit]]:
    def found(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
        for problem in bundle.problems:
            if problem.kind == kind:
                yield Hit(problem.path, problem.text, problem.remedy or remedy, problem.value, origin=problem.origin)

    return found


RULES = tuple(
    Rule(
        code=code,
        severity=Severity(severity),
        demand=demand,
        reason=reason,
        source="Kubernetes documentation, 'Objects In Kubernetes' (field validation); YAML 1.2",
        remedy=remedy,
        fault=kind,
        links=("https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation",),
        bundle=_of_kind(kind, remedy),
    )
    for code, kind, severity, demand, reason, remedy in _KINDS
)
