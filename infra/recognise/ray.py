"""RayCluster, RayService and RayJob: pods of the cluster, and the engines that Ray Serve starts on them."""

import re
from dataclasses import replace

from interlock.infra.catalog.routes import controller_name
from interlock.infra.facts import (
    DocumentProblem,
    Fact,
    NotJudged,
    Origin,
    Place,
    RayFacts,
    Role,
    Workload,
    absent,
    known,
    unknown,
)
from interlock.infra.recognise import serve
from interlock.infra.recognise.accelerators import product_fact
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.pods import PodRead, promoted, read_pod
from interlock.infra.recognise.ray_schema import serve_problems, start_problems
from interlock.infra.recognise.workloads import Result, engines_in, vendor

_CLUSTER = {
    "RayCluster": ("spec",),
    "RayService": ("spec", "rayClusterConfig"),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayClusterFleet": ("spec", "template", "spec"),
    "RayClusterReplicaSet": ("spec", "template", "spec"),
}
_OWN = frozenset({"CPU", "GPU", "memory", "object_store_memory"})
"""Resources of Ray that every pod may have; others are the cluster's own."""
_RAY_TAG = re.compile(r"(?:^|[-_])v?(2\.\d+\.\d+)")
_PYTHON_TAG = re.compile(r"py(3\d{1,2})")
# KubeRay adds readiness and liveness probes and a memory volume at /dev/shm to its pods (ray-operator common/pod.go).
_ADDS = frozenset({"probes", "shm"})


def read_ray(root: Node, document: Document, context: Context) -> Result:
    """One workload per engine on the cluster."""
    source = origin(root, document, "ray")
    cluster = root.at(*_CLUSTER[source.kind])
    pods = _serving(_pods(cluster, context))
    text = root.at("spec", "serveConfigV2")
    config = context.load(text) if not text.mapping else text
    if context.broken(text) or (text.string() and config and not config.mapping):
        yield DocumentProblem(
            source, "embedded-yaml-broken", "serveConfigV2 holds no valid YAML mapping", text.path, remedy="repair the text"
        )
    facts = _facts(root, cluster, pods)
    yield from start_problems(cluster, source, facts.version)
    yield from serve_problems(config, source, facts.version)
    engines = list(serve.engines(config, pods)) if config.mapping else []
    for found in engines:
        yield _workload(source, found, _holding(pods, found, facts), replace(facts, deployments=(found.deployment,)))
    for item in _plain(root, source, pods, context, facts) if not engines else ():
        if isinstance(item, Workload) and text.unknown:
            # What Serve starts stands in a text that cannot be read now.
            yield replace(item, engine=replace(item.engine, complete=False))
        else:
            yield item


def _plain(root: Node, source: Origin, pods: tuple[PodRead, ...], context: Context, facts: RayFacts) -> Result:
    """A cluster whose containers start the engine themselves, or one that says nothing about engines."""
    found = False
    for item in engines_in(root, source, pods, context, _ADDS):
        found = True
        if isinstance(item, Workload):
            on_head = any(item.engine.container == read.container.name for pod in pods[:1] for read in pod.engines)
            yield replace(item, replicas=known(1), ray=replace(facts, driver_on_head=known(on_head)))
        else:
            yield item
    if not found:
        yield NotJudged(source, "no vLLM engine is described in it: what Ray runs here stands elsewhere (code, a job, a Serve config)")


def _workload(source: Origin, found: serve.Found, pods: tuple[PodRead, ...], facts: RayFacts) -> Workload:
    engine = found.engine
    return Workload(
        origin=replace(source, form="ray-serve"),
        engine=engine,
        vendor=vendor(pods, ""),
        replicas=known(1),
        pods=tuple(pod.pod for pod in pods),
        gpu=next((product_fact(gpu) for gpu in (*(pod.gpu for pod in pods), found.accelerator) if not gpu.absent), absent()),
        ray=facts,
        operator_adds=_ADDS,
        paths={
            Place.TENSOR_PARALLEL: engine.tensor_parallel.path,
            Place.GPUS: pods[-1].pod.path if pods else "",
            Place.ARGS: "spec.serveConfigV2",
        },
    )


def _holding(pods: tuple[PodRead, ...], found: serve.Found, facts: RayFacts) -> tuple[PodRead, ...]:
    """The head, and the groups on which the engine's bundles can be placed: those that offer each further resource a bundle asks for."""
    bundles = (*found.deployment.bundles, found.deployment.per_worker)
    wanted = {name for bundle in bundles for name, count in bundle.items() if count and name not in _OWN}
    offered = {group: params.get("resources", Fact()) for group, params in facts.start_params.items()}

    def offers(role: str) -> bool:
        said = offered.get(role, Fact())
        return said.unknown or all(f'"{name}"' in str(said.value or "") for name in wanted)

    return tuple(pod for at, pod in enumerate(pods) if at == 0 or offers(pod.pod.role)) if wanted else pods


def _pods(cluster: Node, context: Context) -> tuple[PodRead, ...]:
    head = cluster["headGroupSpec"]["template"]
    pods = [promoted(read_pod(head["spec"], head["metadata"], context, "head", known(1)))] if head else []
    scaled = cluster["enableInTreeAutoscaling"].boolean().value is True
    for group in cluster["workerGroupSpecs"].items():
        template = group["template"]
        pods.append(
            promoted(
                read_pod(template["spec"], template["metadata"], context, group["groupName"].string() or "worker", _count(group, scaled))
            )
        )
    if cluster["workerGroupSpecs"].unknown:
        pods.append(read_pod(cluster["workerGroupSpecs"], Node({}), context, "worker", unknown(cluster["workerGroupSpecs"].path)))
    return tuple(pods)


def _serving(pods: tuple[PodRead, ...]) -> tuple[PodRead, ...]:
    """The pods, where no group asks for an accelerator: then the first container of each worker is where an engine would run."""
    if any(container.role is Role.ENGINE for pod in pods for container in pod.pod.containers):
        return pods

    def leading(read: PodRead) -> PodRead:
        containers = read.pod.containers
        first = tuple(replace(each, role=Role.ENGINE) if index == 0 else each for index, each in enumerate(containers))
        return replace(read, pod=replace(read.pod, containers=first))

    return tuple(pod if index == 0 and len(pods) > 1 else leading(pod) for index, pod in enumerate(pods))


def _count(group: Node, scaled: bool) -> Fact[int]:
    """Pods of a worker group: what the autoscaler may reach, else the stated replicas, times the hosts of one."""
    replicas = group["maxReplicas"] if scaled and group["maxReplicas"] else group["replicas"]
    count = replicas.integer() if replicas else known(1, group.path)
    hosts = group["numOfHosts"].integer().default(1)
    if not count.known or not hosts.known:
        return unknown(count.path, "the number of workers is not known here")
    # KubeRay's default for maxReplicas is the largest int32: no number to reckon with.
    return known(count.get() * hosts.get(), count.path) if count.get() < 100_000 else unknown(count.path, "no upper end is stated")


def _facts(root: Node, cluster: Node, pods: tuple[PodRead, ...]) -> RayFacts:
    images = [_main_tag(pod) for pod in pods]
    stated = cluster["rayVersion"].text()
    head = cluster["headGroupSpec"]
    groups = {"head": head["rayStartParams"].facts()}
    for group in cluster["workerGroupSpecs"].items():
        groups[group["groupName"].string() or "worker"] = group["rayStartParams"].facts()
    annotations = root.at("metadata", "annotations")
    tolerant = annotations["ray.io/ft-enabled"].boolean() if annotations["ray.io/ft-enabled"] else absent()
    if cluster["gcsFaultToleranceOptions"]:
        tolerant = known(True, cluster["gcsFaultToleranceOptions"].path)
    if not cluster:
        tolerant = unknown(cluster.path, "the cluster is not described")
    own = _tagged(images[0], _RAY_TAG) if images else absent()
    of_ray = bool(pods) and bool(pods[0].reads) and pods[0].reads[0].image.engine == "ray"
    return RayFacts(
        kind=root["kind"].string(),
        version=own if own.known and (of_ray or stated.absent) else stated,
        stated_version=stated if of_ray and own.known else absent(),
        worker_versions=tuple(_tagged(tag, _RAY_TAG) for tag in images[1:]),
        python=_tagged(images[0], _PYTHON_TAG) if images else absent(),
        worker_python=tuple(_tagged(tag, _PYTHON_TAG) for tag in images[1:]),
        gcs_fault_tolerance=tolerant,
        auth=_auth(cluster, pods),
        start_params=groups,
        upgrade=root.at("spec", "upgradeStrategy", "type").text(),
        upgrade_gateway=root.at("spec", "upgradeStrategy", "clusterUpgradeOptions", "gatewayClassName").text().map(controller_name),
    )


def _main_tag(pod: PodRead) -> Fact[str]:
    if not pod.reads:
        return absent()
    return pod.reads[0].container.image.map(lambda text: text.rpartition("/")[2])


def _tagged(tag: Fact[str], pattern: re.Pattern[str]) -> Fact[str]:
    match = pattern.search(tag.value.partition(":")[2]) if tag.known and tag.value else None
    return known(match.group(1), tag.path) if match else Fact(path=tag.path)


def _auth(cluster: Node, pods: tuple[PodRead, ...]) -> Fact[bool]:
    mode = cluster.at("authOptions", "mode")
    if mode:
        return mode.text().map(lambda text: text == "token")
    for pod in pods[:1]:
        for read in pod.reads[:1]:
            value = read.container.env.get("RAY_AUTH_MODE")
            if value is not None:
                return value.map(lambda text: text == "token")
    return absent(mode.path)
