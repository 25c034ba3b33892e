"""One model behind one URL: Deployment, Service, budget, route, autoscaler."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components._given import Given
from interlock.components._made import Recipe, formerly, make, register
from interlock.components._runtime import apply_runtime
from interlock.components.arguments.cluster import MonitoringSettings, NetworkSettings, WaiverSettings
from interlock.components.arguments.pools import PoolSettings
from interlock.components.arguments.servers import ServerSettings
from interlock.components.arguments.stores import StoreSettings
from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.alone import with_runtime
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import ServerObjects
from interlock.infra.plan.types import ClusterPlan

WORKLOADS = frozenset({"Deployment", "LeaderWorkerSet"})
"""Kinds whose pods load a model before they are ready."""


class VllmServerArgs(TypedDict):
    """What a VllmServer is made of."""

    server: ServerSettings
    """The model and how it is served. Its name defaults to the component's, its pool is the one below."""
    pool: PoolSettings
    """Nodes that it runs on; nothing is made for them here."""
    namespace: pulumi.Input[str]
    """Namespace that it is put into; it exists already."""
    stores: NotRequired[list[StoreSettings]]
    """Stores that ``server.weights`` and ``server.compile_cache`` name. Claims of them exist already, or a ModelStore makes them."""
    weights_claim: NotRequired[pulumi.Input[str]]
    """Existing claim that holds the weights, in place of a store: mounted read only, and the model is loaded from it."""
    image_digest: NotRequired[pulumi.Input[str]]
    """Digest (``sha256:...``) that pins ``server.image.reference``, which names repository and tag."""
    production: NotRequired[bool]
    """Refuse images that are named without a digest; false by default."""
    network: NotRequired[NetworkSettings]
    """Who may talk to its pods, by NetworkPolicy; omit for no policy: what else of the program asks them is not known here."""
    monitoring: NotRequired[MonitoringSettings]
    """Who reads its metrics, and which Prometheus its autoscaler asks; omit for a PodMonitor where it is autoscaled."""
    stack: NotRequired[str]
    """Name that labels and selector carry; omit for the Pulumi stack's. Two stacks that share a namespace need two names."""
    waivers: NotRequired[list[WaiverSettings]]
    """Findings accepted with a reason."""
    rules: NotRequired[dict[str, Any]]
    """Rule settings by ``CODE.name``."""


class VllmServer(pulumi.ComponentResource):
    """A vLLM server, planned and judged before anything of it is registered. Whoever depends on it waits until it serves."""

    url: pulumi.Output[str]
    """Base URL inside the cluster, ending in /v1."""
    external_url: pulumi.Output[str]
    """Base URL from outside; empty without a route."""
    model: pulumi.Output[str]
    """What clients send as ``model``."""
    namespace: pulumi.Output[str]
    """Its namespace."""
    deployment: pulumi.Output[str]
    """Name of its Deployment, or of its LeaderWorkerSet where a replica lies on several nodes."""
    service: pulumi.Output[str]
    """Name of its Service, whose port 80 is named http."""
    selector: pulumi.Output[dict[str, str]]
    """Labels of the pods that take its requests, and of no others."""
    metrics_port: pulumi.Output[int]
    """Port of these pods that answers /metrics (and the API), named http."""
    gpus: pulumi.Output[int]
    """GPUs, or shares of GPUs, of one replica."""
    secrets: pulumi.Output[dict[str, str]]
    """Names of the Secrets that it uses, by use (hub_token, tls); never their content."""

    def __init__(self, name: str, args: VllmServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        made = make(RECIPE, name, args)
        super().__init__("interlock:index:VllmServer", name, {}, formerly("InferenceServer", opts))
        spec = made.objects
        before: list[pulumi.Resource] = apply_runtime(made, name, self, ())
        for manifest in spec.workload:
            options = pulumi.ResourceOptions(parent=self, depends_on=list(before))
            if manifest["kind"] in WORKLOADS:
                timeout = f"{spec.update_timeout}s"
                timeouts = pulumi.CustomTimeouts(create=timeout, update=timeout, delete=f"{spec.delete_timeout}s")
                options = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(custom_timeouts=timeouts))
            child = made.apply(spec.logical_name(name, manifest), *scaled(manifest, spec.first_replicas, options))
            if manifest["kind"] == "ResourceClaimTemplate":
                before.append(child)
        self.url = made.output(spec.url)
        self.external_url = made.output(spec.external_url)
        self.model = made.output(spec.model)
        self.namespace = made.output(spec.namespace)
        self.deployment = made.output(spec.name)
        self.service = made.output(spec.name)
        self.selector = made.output(spec.selector)
        self.metrics_port = made.output(spec.port)
        self.gpus = made.output(spec.gpus)
        self.secrets = made.output(spec.secrets)
        register(self)


def scaled(manifest: Mapping[str, Any], first: int, options: pulumi.ResourceOptions) -> tuple[Mapping[str, Any], pulumi.ResourceOptions]:
    """``manifest`` with the replicas that it begins with, where an autoscaler has them after that (``first`` above 0).

    Left out they would be one at the start, and one again when autoscaling is switched on: a field that its only owner drops falls back
    to its default.
    """
    if not first or manifest["kind"] not in WORKLOADS:
        return manifest, options
    begun = {**manifest, "spec": {"replicas": first, **manifest["spec"]}}
    return begun, pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(ignore_changes=["spec.replicas"]))


def _config(name: str, read: Given) -> dict[str, Any]:
    given = read.values
    server, pool = dict(given["server"]), given["pool"]
    if server.get("serve") == "ray":
        raise ConfigError([Problem("servers[0].serve", "'ray' is run by a RayService: use the component RayServer, or leave serve out")])
    if server.get("pool", pool.get("name")) != pool.get("name"):
        raise ConfigError([Problem("servers[0].pool", f"{server['pool']!r} is not the name of the given pool, {pool.get('name')!r}")])
    if server.get("access") and server["access"].get("keys"):
        why = "tenants belong to a whole stack (access.tenants of its config), and a server alone has none whose keys it could ask for"
        fix = "remove it; one key for everybody is VLLM_API_KEY from a Secret in extra.pod_patch"
        raise ConfigError([Problem("servers[0].access.keys", f"{why}: {fix}")])
    # Nothing of a store is made here: whoever makes its claim fills it.
    stores = [{"filled": "another component", **each} if each.get("kind", "claim") == "claim" else each for each in given.get("stores", ())]
    if "weights_claim" in given:
        stores.append(_claimed(name, server, given["weights_claim"]))
        server["weights"] = stores[-1]["name"]
    if "image_digest" in given:
        server["image"] = _pinned(server, given["image_digest"], read)
    return {
        "scope": "serving",
        "namespace": given["namespace"],
        "create_namespace": False,
        "network": given.get("network", {"policies": False}),
        "monitoring": given.get("monitoring", {}),
        "pools": [pool],
        "servers": [{"name": name, "pool": pool.get("name"), **server}],
        "stores": stores,
    }


def _claimed(name: str, server: Mapping[str, Any], claim: str) -> dict[str, Any]:
    """A store that stands for the given claim."""
    if "weights" in server:
        raise ConfigError([Problem("weights_claim", f"server.weights names the store {server['weights']!r} already: remove one of them")])
    return {"name": f"{server.get('name', name)}-weights", "kind": "existing-claim", "claim": claim}


def _pinned(server: Mapping[str, Any], digest: str, read: Given) -> dict[str, Any]:
    """The image with its digest."""
    image = dict(server.get("image", {}))
    reference = image.get("reference")
    if not reference or "@" in reference:
        why = "has a digest already" if reference else "is missing, and the pinned image has a digest already"
        raise ConfigError(
            [Problem("image_digest", f"servers[0].image.reference {why}: name repository and tag there, or remove image_digest")]
        )
    if not digest.startswith("sha256:"):
        raise ConfigError([Problem("image_digest", f"{digest!r} is not a digest such as sha256:4f53...")])
    if "compile_cache" in server and digest.removeprefix("sha256:") in read.outputs:
        why = "is an output, and the folder of the compile cache is named by the image"
        raise ConfigError([Problem("image_digest", f"{why}: give the digest as a plain value, or remove servers[0].compile_cache")])
    return {**image, "reference": f"{reference}@{digest}"}


def _build(config: ClusterConfig, plan: ClusterPlan, given: Mapping[str, Any]) -> tuple[ServerObjects, Sequence[Draft]]:
    made = stack_objects(config, plan)
    return with_runtime(made.servers[0], config, plan.stack, made.servers[0].name), made.drafts


RECIPE = Recipe(
    "VllmServer",
    VllmServerArgs,
    _config,
    _build,
    words={"servers[0]": "server", "pools[0]": "pool"},
)
