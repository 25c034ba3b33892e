"""Faults of the document itself, as the reader found them: one rule per kind of fault."""

import re
from collections.abc import Iterable
from dataclasses import replace

from interlock.infra.facts import Bundle
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.rule import Hit, Settings, put, rule

_SOURCE = "Kubernetes documentation, 'Objects In Kubernetes' (field validation); YAML 1.2"
_LINKS = ("https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation",)


def _problems(bundle: Bundle, kind: str) -> Iterable[Hit]:
    for problem in bundle.problems:
        if problem.kind == kind:
            level = Severity(problem.severity) if problem.severity else None
            also = tuple((None, path) for path in problem.also)
            told = Hit(problem.path, problem.text, problem.remedy, problem.value, severity=level, origin=problem.origin, also=also)
            yield replace(told, fault=problem.fault)


@rule(
    "DOC-001",
    Severity.ERROR,
    demand="A file is valid YAML.",
    reason="Nothing of it is applied.",
    source=_SOURCE,
    remedy="Repair the syntax at the place named.",
    fault="yaml-invalid",
    links=_LINKS,
    of="bundle",
)
def invalid(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "yaml-invalid")


@rule(
    "DOC-002",
    Severity.ERROR,
    demand="Fields have the types and values that the API and the operator ask for.",
    reason="The API server or the operator refuses the object, or Ray the application.",
    source="Kubernetes documentation, 'Objects In Kubernetes' (field validation); infra/catalog/field_relations.json (docs/mechanisms.md)",
    remedy="Correct the value.",
    fault="schema-broken",
    links=_LINKS,
    of="bundle",
)
def broken_schema(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "schema-broken")


@rule(
    "DOC-003",
    Severity.WARNING,
    demand="A key is given once.",
    reason="The last one wins without a word, or strict readers refuse.",
    source=_SOURCE,
    remedy="Keep one of them.",
    fault="dup-key",
    links=_LINKS,
    of="bundle",
)
def duplicate_key(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "dup-key")


@rule(
    "DOC-004",
    Severity.WARNING,
    demand="Field names are those of the API.",
    reason="kubectl refuses or drops it, so it has no effect.",
    source=_SOURCE,
    remedy="Correct the name.",
    fault="schema-typo",
    links=_LINKS,
    of="bundle",
)
def unknown_field(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "schema-typo")


@rule(
    "DOC-005",
    Severity.WARNING,
    demand="A field stands where the API reads it.",
    reason="It has no effect there.",
    source=_SOURCE,
    remedy="Move it to its place.",
    fault="schema-misplaced",
    links=_LINKS,
    of="bundle",
)
def misplaced(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "schema-misplaced")


@rule(
    "DOC-006",
    Severity.WARNING,
    demand="No template text is left over.",
    reason="The text itself becomes the value.",
    source=_SOURCE,
    remedy="Render the template.",
    fault="template-leftover",
    links=_LINKS,
    of="bundle",
)
def template(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "template-leftover")


@rule(
    "DOC-007",
    Severity.WARNING,
    demand="No placeholder is left over.",
    reason="The text itself becomes the value.",
    source=_SOURCE,
    remedy="Fill it in.",
    fault="placeholder",
    links=_LINKS,
    of="bundle",
)
def placeholder(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "placeholder")


@rule(
    "DOC-008",
    Severity.WARNING,
    demand="YAML inside a text is valid.",
    reason="The program that reads it fails or ignores it.",
    source=_SOURCE,
    remedy="Repair the text.",
    fault="embedded-yaml-broken",
    links=_LINKS,
    of="bundle",
)
def embedded(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "embedded-yaml-broken")


@rule(
    "DOC-009",
    Severity.ERROR,
    demand="An object that a stack made for a model still starts an engine.",
    reason="A patch that takes the container, its image or its command away deploys pods that serve nothing.",
    source="Kubernetes documentation, 'Update API Objects in Place Using kubectl patch' (lists without names are replaced)",
    remedy="Keep the engine's container.",
    fault="engine-lost",
    of="bundle",
)
def engine_lost(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    return _problems(bundle, "engine-lost")


@rule(
    "DOC-010",
    Severity.WARNING,
    demand="Kubernetes serves an object's API version, and keeps its fields.",
    reason="Nothing of it is applied, and what relies on it (a gang, a budget, a scaler) is not there.",
    source="infra/catalog/api_versions.json: k8s.io/api 0.37.2 and DefaultAPIResourceConfigSource of Kubernetes 1.37",
    remedy="Write the version that is served.",
    fault="api-version-not-served",
    links=("https://kubernetes.io/docs/reference/using-api/deprecation-guide/",),
    of="bundle",
)
def api_version(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for hit in _problems(bundle, "api-version"):
        served = re.fullmatch(r"write (\S+)", hit.remedy)
        yield replace(hit, fixes=put(hit.path, served[1])) if served else hit
