"""From documents to one bundle of facts: a table of readers by kind."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from interlock.infra.catalog.kinds import kinds
from interlock.infra.facts import (
    Autoscaler,
    Budget,
    Bundle,
    Claim,
    DeviceClass,
    DevicePlugin,
    DiskVolume,
    DocumentProblem,
    Drain,
    EndpointPool,
    LimitRange,
    Namespace,
    NotJudged,
    Objective,
    Pool,
    Query,
    Quota,
    Route,
    Router,
    RouterProgram,
    Scrape,
    SecretObject,
    Service,
    SharingConfig,
    StorageClass,
    Workload,
    known,
)
from interlock.infra.recognise import (
    drains,
    kserve,
    kserve_schema,
    llmisvc,
    lws,
    monitoring,
    network,
    nodes,
    objects,
    operators,
    pickers,
    ray,
    routers,
    scaling,
    storage,
)
from interlock.infra.recognise import workloads as native
from interlock.infra.recognise.api_versions import api_problems, dropped_fields
from interlock.infra.recognise.charts import production_stack as stack
from interlock.infra.recognise.charts import values as charts
from interlock.infra.recognise.context import Context, Parse, gather
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.leftovers import leftovers, unexpanded
from interlock.infra.recognise.ours import engine_lost, pools_of, with_carried
from interlock.infra.recognise.schema import schema_problems

Reader = Callable[[Node, Document, Context], Iterable[Any]]

_FIELDS = {
    Workload: "workloads",
    Service: "services",
    Route: "routes",
    Router: "routers",
    Drain: "drains",
    Autoscaler: "autoscalers",
    Budget: "budgets",
    Claim: "claims",
    SecretObject: "secrets",
    Quota: "quotas",
    LimitRange: "limit_ranges",
    Namespace: "namespaces",
    StorageClass: "storage_classes",
    DiskVolume: "disk_volumes",
    EndpointPool: "endpoint_pools",
    RouterProgram: "programs",
    Objective: "objectives",
    DeviceClass: "device_classes",
    DevicePlugin: "device_plugins",
    Pool: "pools",
    NotJudged: "not_judged",
    Query: "queries",
    Scrape: "scrapes",
    SharingConfig: "sharing",
    DocumentProblem: "problems",
}

READERS: dict[str, tuple[Reader, ...]] = {
    "Service": (network.read_service,),
    "Ingress": (network.read_ingress,),
    "VirtualService": (network.read_virtual_service,),
    "IngressRoute": (network.read_simple_route,),
    "Route": (network.read_simple_route,),
    "HorizontalPodAutoscaler": (scaling.read_hpa,),
    "ScaledObject": (scaling.read_scaled_object,),
    "PodDisruptionBudget": (scaling.read_budget,),
    "PersistentVolumeClaim": (objects.read_claim,),
    "Secret": (objects.read_secret,),
    "ConfigMap": (objects.read_config_map, nodes.read_sharing, monitoring.read_texts),
    "ResourceQuota": (objects.read_quota,),
    "LimitRange": (objects.read_limits,),
    "Namespace": (storage.read_namespace,),
    "StorageClass": (storage.read_storage_class,),
    "PersistentVolume": (storage.read_volume,),
    "InferencePool": (pickers.read_endpoint_pool,),
    "InferenceObjective": (pickers.read_objective,),
    "InferenceModelRewrite": (pickers.read_objective,),
    "DeviceClass": (pickers.read_device_class,),
    "NodePool": (nodes.read_node_pool,),
    "Provisioner": (nodes.read_node_pool,),
    "PrometheusRule": (monitoring.read_rules,),
    "VMRule": (monitoring.read_rules,),
    "GrafanaDashboard": (monitoring.read_dashboard,),
    "ServiceMonitor": (monitoring.read_monitor,),
    "PodMonitor": (monitoring.read_monitor,),
    "PodMonitoring": (monitoring.read_monitor,),
    "LeaderWorkerSet": (lws.read_lws, pickers.read_programs),
    "RayCluster": (ray.read_ray, drains.read_drains),
    "RayService": (ray.read_ray, drains.read_drains),
    "RayJob": (ray.read_ray,),
    "RayClusterFleet": (ray.read_ray,),
    "RayClusterReplicaSet": (ray.read_ray,),
    "InferenceService": (kserve.read_inference_service, kserve_schema.read_refusals),
    "ServingRuntime": (kserve.read_runtime,),
    "ClusterServingRuntime": (kserve.read_runtime,),
    "LLMInferenceService": (llmisvc.read_llm_service, pickers.read_programs),
    "LLMInferenceServiceConfig": (llmisvc.read_llm_service, pickers.read_programs),
    "VLLMRuntime": (stack.read_runtime,),
    "DynamoGraphDeployment": (operators.read_dynamo,),
    "DynamoComponentDeployment": (operators.read_dynamo,),
}
_SERVING: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Deployment": (("spec", "template"),),
    "StatefulSet": (("spec", "template"),),
    "LeaderWorkerSet": (("spec", "leaderWorkerTemplate", "leaderTemplate"), ("spec", "leaderWorkerTemplate", "workerTemplate")),
}
"""Kinds that may carry a model's engine, with their pod templates."""
_RELEASES = frozenset({"HelmRelease", "HelmChart", "Application", "Kustomization"})


def recognise(documents: Sequence[Document], *, closed: bool = False, parse: Parse | None = None) -> Bundle:
    """The facts of ``documents``. Never raises on any data; ``parse`` reads texts that hold YAML (without it JSON alone).

    ``closed``: the documents are the whole deployment, so what is absent is really absent.
    """
    whole = tuple(_flat(documents))
    context = gather(whole, parse)
    policies = network.gather_policies(whole)
    found: dict[str, list[Any]] = {name: [] for name in _FIELDS.values()}
    for document in whole:
        for item in _read(document, context, policies):
            found[_FIELDS[type(item)]].append(with_carried(item))
    found["pools"][:0] = pools_of(found["workloads"])
    found["problems"].extend(_problems(whole, found["workloads"]))
    found["claims"] = _with_users(found["claims"], whole)
    facts: dict[str, Any] = {name: tuple(items) for name, items in found.items()}
    return Bundle(**facts, closed=closed)


def _with_users(claims: Iterable[Claim], documents: Sequence[Document]) -> list[Claim]:
    """Claims with the number of places that name them."""
    users = objects.claim_users(documents) if claims else Counter[tuple[str, str]]()
    counted = []
    for claim in claims:
        space = claim.origin.namespace
        named = sum(count for (near, name), count in users.items() if name == claim.origin.name and (near == space or "" in (near, space)))
        counted.append(claim if claim.users.known else replace(claim, users=known(named)))
    return counted


def _problems(documents: Iterable[Document], workloads: Sequence[Workload]) -> Iterator[DocumentProblem]:
    """Problems of documents that carry or surround an engine; nobody asked about the others."""
    carrying = {(workload.origin.file, workload.origin.document) for workload in workloads}
    for document in documents:
        root = Node(document.data, document.path)
        engine = (document.file, document.index) in carrying
        templates = [] if engine else [root.at(*keys) for keys in _SERVING.get(root["kind"].string(), ())]
        found = [template.at("spec", "containers") for template in templates if template]
        if found and not any(map(_open, found)):
            yield from engine_lost(origin(root, document), found[0])
        if carrying:
            yield from api_problems(root, origin(root, document))
            for template in native.templates(root) if engine else ():
                yield from dropped_fields(template.spec, origin(root, document))
        if engine or (carrying and root["kind"].string() in READERS):
            yield from schema_problems(root, origin(root, document), whole=engine)
            yield from (*leftovers(root, origin(root, document)), *unexpanded(root, origin(root, document))) if engine else ()
        elif broken := schema_problems(root, origin(root, document), whole=False):
            yield from broken if "vllm" in repr(document.data) else ()


def _open(node: Node, depth: int = 0) -> bool:
    """Whether anything below cannot be read now, so that it may be an engine."""
    if node.unknown:
        return True
    inner = [child for _, child in node.fields()] if node.mapping else list(node.items())
    return depth < 6 and any(_open(child, depth + 1) for child in inner)


def _flat(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents with the items of every List on their own."""
    for document in documents:
        root = Node(document.data, document.path)
        if root["kind"].string().endswith("List") and root["items"].is_list:
            for item in root["items"].items():
                yield replace(document, data=item.value, path=item.path)
        elif root.mapping:
            yield document


def _read(document: Document, context: Context, policies: network.Policies) -> Iterator[Any]:
    root = Node(document.data, document.path)
    # Chart values may have a key ``kind`` of their own.
    manifest = any(root[key] for key in ("apiVersion", "metadata", "spec"))
    kind = root["kind"].string() if manifest else ""
    for reader in READERS.get(kind, ()):
        yield from reader(root, document, context)
    if kind in ("HTTPRoute", "GRPCRoute", "AIGatewayRoute"):
        yield from network.read_http_route(root, document, context, policies)
    elif kind == "Model" and operators.is_kubeai(root):
        yield from operators.read_kubeai(root, document, context)
    elif kind in _RELEASES:
        yield from charts.read_release(root, document, context)
    elif not kind:
        yield from charts.read_values(root, root, document, context)
    elif kind not in kinds() or kinds()[kind].pods:
        yield from native.read_native(root, document, context)
        yield from routers.read_routers(root, document, context)
        yield from pickers.read_programs(root, document, context)
        yield from drains.read_drains(root, document, context)
        yield from pickers.read_device_plugin(root, document, context) if kind == "DaemonSet" else ()
        for template in native.templates(root):
            yield from monitoring.read_annotated(template.metadata, root, document, "pod")
    if kind == "Service":
        yield from monitoring.read_annotated(root["metadata"], root, document, "service")
