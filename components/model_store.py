"""One place that holds weights: volumes, claim, and the Jobs that fill it."""

from typing import TypedDict

import pulumi

from interlock.components._k8s import apply, kept, protected
from interlock.infra.manifests.bundles import StoreObjects


class ModelStoreArgs(TypedDict):
    """What a ModelStore is made of."""

    spec: StoreObjects
    """The planned objects."""


class ModelStore(pulumi.ComponentResource):
    """A store of any kind. Its data outlives a destroy as the plan says; whoever depends on it starts when its Jobs are done."""

    store_name: pulumi.Output[str]
    """Name of the store."""

    def __init__(self, name: str, args: ModelStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:ModelStore", name, {}, opts)
        spec = args["spec"]
        before: list[pulumi.Resource] = []
        for manifest in spec.volumes:
            holds = manifest["kind"] != "StorageClass"
            options = pulumi.ResourceOptions(
                parent=self,
                depends_on=list(before),
                protect=holds and protected(spec.keep),
                retain_on_delete=holds and kept(spec.keep),
            )
            before.append(apply(f"{name}-{manifest['kind'].lower()}-{manifest['metadata']['name']}", manifest, options))
        for manifest in spec.jobs:
            timeout = f"{spec.job_timeout}s"
            timeouts = pulumi.CustomTimeouts(create=timeout, update=timeout)
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before), custom_timeouts=timeouts)
            apply(f"{name}-{manifest['metadata']['name']}", manifest, options)
        self.store_name = pulumi.Output.from_input(spec.name)
        self.register_outputs({"store_name": self.store_name})
