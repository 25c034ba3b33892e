"""The only place where a plain manifest becomes a Pulumi resource.

A manifest is registered under its type token as it is. The SDK's typed classes would send the same, but importing their modules
takes longer than the rest of a program with ten servers, and each input would be translated to Python's words and back.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import pulumi

from interlock.infra.catalog.kinds import kind_of_object
from interlock.infra.config.stores import Keep
from interlock.infra.manifests.runtime import part_of


def apply(name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Registers ``manifest`` (camelCase) under the logical ``name``. Inputs may stand anywhere in it.

    A Node is patched: its other fields belong to whoever made it. So is the runtime's archive, which may be there already.
    """
    return pulumi.CustomResource(_token(manifest), name, _awaited(manifest), pulumi.ResourceOptions.merge(_of_the_sdk(), opts))


def kept(keep: Keep) -> bool:
    """Whether a destroy leaves the object in the cluster."""
    return keep is not Keep.DELETE


def protected(keep: Keep) -> bool:
    """Whether a destroy is refused, or passes the object over with --exclude-protected."""
    return keep is Keep.PROTECT


def _token(manifest: Mapping[str, Any]) -> str:
    """The resource's type: ``kubernetes:apps/v1:Deployment``; the group without a name is called core."""
    api = manifest["apiVersion"]
    patched = manifest["kind"] == "Node" or part_of(manifest) == "archive"
    kind = f"{manifest['kind']}Patch" if patched else manifest["kind"]
    return f"kubernetes:{api if '/' in api else f'core/{api}'}:{kind}"


@cache
def _of_the_sdk() -> pulumi.ResourceOptions:
    """What the SDK's classes set: a program that names no provider gets the one of the SDK's version."""
    return pulumi.ResourceOptions(version=version("pulumi-kubernetes"))


def _awaited(manifest: Mapping[str, Any]) -> dict[str, Any]:
    # The provider waits for kinds that it knows; for others, and where its waiting is wrong, it does what these annotations say.
    how = kind_of_object(manifest).wait
    if not how:
        return dict(manifest)
    metadata = manifest["metadata"]
    annotations = {**how} | metadata.get("annotations", {})
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
