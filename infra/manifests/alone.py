"""What objects need that are made alone: in a stack, the runtime of their pods is made once for the whole namespace."""

from dataclasses import replace
from typing import Any, TypeVar

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.placed import Draft, finished
from interlock.infra.manifests.runtime import owner_of, runtime_name, runtime_objects
from interlock.infra.manifests.sets import ObjectSet

Objects = TypeVar("Objects", bound=ObjectSet)


def with_runtime(objects: Objects, config: ClusterConfig, stack: str, owner: str) -> Objects:
    """``objects``, led by the runtime when one of them runs it. Its name is the owner's: no two owners share one."""
    shared = runtime_name(owner_of(stack))
    if not any(_holds(draft.manifest, shared) for draft in objects.drafts):
        return objects
    made = (finished(each, "namespace", whole=True) for each in runtime_objects(stack, config.namespace, owner))
    return replace(objects, drafts=(*made, *(_renamed(draft, shared, runtime_name(owner)) for draft in objects.drafts)))


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
