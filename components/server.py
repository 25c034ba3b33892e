"""One model behind one URL: Deployment, Service, budget, route, autoscaler."""

from typing import TypedDict

import pulumi

from interlock.components._k8s import apply
from interlock.infra.manifests.bundles import ServerObjects


class InferenceServerArgs(TypedDict):
    """What an InferenceServer is made of."""

    spec: ServerObjects
    """The planned objects, in the order in which they must exist."""


class InferenceServer(pulumi.ComponentResource):
    """A vLLM server as planned. It places and wires; every number was decided by the plan."""

    url: pulumi.Output[str]
    """Base URL inside the cluster, ending in /v1."""
    service_name: pulumi.Output[str]
    """Name of its Service."""

    def __init__(self, name: str, args: InferenceServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("interlock:index:InferenceServer", name, {}, opts)
        spec = args["spec"]
        before: list[pulumi.Resource] = []
        for manifest in spec.manifests:
            kind = manifest["kind"]
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before))
            if kind == "Deployment":
                timeout = f"{spec.update_timeout}s"
                timeouts = pulumi.CustomTimeouts(create=timeout, update=timeout, delete=f"{spec.delete_timeout}s")
                options = pulumi.ResourceOptions(parent=self, depends_on=list(before), custom_timeouts=timeouts)
            made = apply(spec.logical_name(name, manifest), manifest, options)
            if kind == "ResourceClaimTemplate":
                before.append(made)
        self.url = pulumi.Output.from_input(spec.url)
        self.service_name = pulumi.Output.from_input(spec.name)
        self.register_outputs({"url": self.url, "service_name": self.service_name})
