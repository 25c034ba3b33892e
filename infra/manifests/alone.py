"""What objects need that are made alone: in a stack, the program that their pods run is made once for the whole namespace."""

from dataclasses import replace
from typing import Any, TypeVar

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.placed import Draft, finished
from interlock.infra.manifests.prefetch import program, script_map, script_name
from interlock.infra.manifests.sets import ObjectSet
from interlock.infra.naming import content_hash, joined

Objects = TypeVar("Objects", bound=ObjectSet)


def with_program(objects: Objects, config: ClusterConfig, stack: str, owner: str) -> Objects:
    """``objects``, led by a ConfigMap with the program when one of them runs it. Its name is the owner's: no two owners share one."""
    shared = script_name()
    if not any(_holds(draft.manifest, shared) for draft in objects.drafts):
        return objects
    own = joined(owner, "program", content_hash(program()))
    made = finished(script_map(stack, config.namespace), "namespace", whole=True)
    drafts = (made, *objects.drafts)
    return replace(objects, drafts=tuple(_renamed(draft, shared, own) for draft in drafts))


def _holds(value: Any, text: str) -> bool:
    if isinstance(value, dict):
        return any(_holds(item, text) for item in value.values())
    return any(_holds(item, text) for item in value) if isinstance(value, list) else value == text


def _renamed(draft: Draft, old: str, new: str) -> Draft:
    return replace(draft, manifest=_put(draft.manifest, old, new))


def _put(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _put(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_put(item, old, new) for item in value]
    return new if value == old else value
