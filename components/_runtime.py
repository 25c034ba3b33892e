"""The runtime's ConfigMaps: the archive of each time belongs to one anchor, and stays when the next one takes its place.

A ReplicaSet of an earlier revision names the archive of its own time. So Pulumi leaves a replaced one in the cluster, and the garbage
collector removes all of them when a destroy has removed the anchor. Coming back to an earlier archive finds it there: it is applied and
not created.
"""

from collections.abc import Sequence
from typing import Any

import pulumi

from interlock.components._made import Made
from interlock.infra.manifests.placed import Manifest
from interlock.infra.manifests.runtime import part_of


def apply_runtime(made: Made[Any], component: str, parent: pulumi.Resource, before: Sequence[pulumi.Resource]) -> list[pulumi.Resource]:
    """Registers the runtime's objects among those of ``made``, after ``before``; empty where there are none."""
    parts = {part_of(each): each for each in made.objects.manifests if part_of(each)}
    if not parts:
        return []
    options = pulumi.ResourceOptions(parent=parent, depends_on=list(before))
    anchor = made.apply(f"{component}-runtime", parts["anchor"], options)
    held = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(retain_on_delete=True))
    return [anchor, made.apply(f"{component}-runtime-archive", owned(parts["archive"], anchor), held)]


def owned(manifest: Manifest, anchor: pulumi.Resource) -> dict[str, Any]:
    """``manifest`` as belonging to ``anchor``."""
    known: pulumi.Output[Any] = vars(anchor)["metadata"]
    references = known.apply(lambda each: [{"apiVersion": "v1", "kind": "ConfigMap", "name": each["name"], "uid": each.get("uid", "")}])
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": references}}
