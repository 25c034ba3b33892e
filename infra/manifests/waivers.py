"""Waivers of the config on the objects they speak of: whoever judges the objects alone (policy pack, checker) sees them too."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from interlock.infra.manifests.placed import Draft, Source
from interlock.infra.rules.findings import Finding
from interlock.infra.rules.waivers import WAIVE, waiver_text


def object_key(kind: str, name: str) -> str:
    """How the plan names one of its objects."""
    return f"{kind}/{name}"


def waived_objects(judged: Iterable[tuple[Finding, Finding]]) -> dict[str, str]:
    """Annotation by object, from pairs of a finding on an object and the same finding with the config's waiver."""
    texts: dict[str, dict[str, None]] = {}
    for on_object, marked in judged:
        if marked.waiver and not on_object.waiver:
            key = object_key(on_object.subject.kind, on_object.subject.name)
            texts.setdefault(key, {})[waiver_text(marked.waiver)] = None
    return {key: "; ".join(each) for key, each in texts.items()}


def carrying(draft: Draft, waived: Mapping[str, str]) -> Draft:
    """``draft`` with its waivers as an annotation."""
    made = draft.manifest
    text = waived.get(object_key(made["kind"], made["metadata"]["name"]))
    if text is None:
        return draft
    annotations = {**made["metadata"].get("annotations", {}), WAIVE: text}
    manifest = {**made, "metadata": {**made["metadata"], "annotations": annotations}}
    return replace(draft, manifest=manifest, sources={**draft.sources, f'metadata.annotations["{WAIVE}"]': Source("waivers")})
