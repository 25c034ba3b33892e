"""Tokens of Ray clusters: drawn by Pulumi and kept in the cluster as one Secret for each RayService."""

from typing import Any

import pulumi

from interlock.components._k8s import apply
from interlock.infra.manifests.ray_container import TOKEN_KEY
from interlock.infra.manifests.sets import StackObjects

LETTERS = 43
"""Letters and digits of a token: 256 bits."""


def deploy_tokens(objects: StackObjects, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Registers the Secret of each RayService whose token the stack draws."""
    wanted = [(each.name, each.secret) for each in objects.rays if each.secret]
    if not wanted:
        return []
    import pulumi_random as random  # noqa: PLC0415 - only stacks with Ray need it

    made: list[pulumi.Resource] = []
    for name, manifest in wanted:
        text: Any = random.RandomPassword(f"ray-{name}", length=LETTERS, special=False).result
        made.append(apply(f"ray-{name}-token", {**manifest, "stringData": {TOKEN_KEY: pulumi.Output.secret(text)}}, opts))
    return made
