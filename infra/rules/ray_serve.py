"""Ray Serve's ways of a request: direct streaming, its HAProxy, request routers, and the route of an incremental upgrade."""

from collections.abc import Iterable, Iterator

from interlock.infra.facts import Bundle, Container, Fact, Place, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_routes import controllers
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.values import GIB, Version, bytes_of

_STREAMING, _PROXY = "RAY_SERVE_LLM_ENABLE_DIRECT_STREAMING", "RAY_SERVE_ENABLE_HA_PROXY"
_BODIES = "RAY_SERVE_INGRESS_REQUEST_ROUTER_FORWARD_BODY"
_CONNECTIONS, _BUFFER = "RAY_SERVE_HAPROXY_MAXCONN", "RAY_SERVE_HAPROXY_INGRESS_REQUEST_ROUTER_BUFSIZE"
_READ = Version(2, 60)
"""The release whose source was read: other ones may differ."""


def _boxes(workload: Workload) -> list[Container]:
    """The container of each pod that runs Ray."""
    return [pod.containers[0] for pod in workload.pods if pod.containers]


def _on(box: Container, name: str) -> bool:
    return box.env.get(name, Fact()).value == "1"


def _first(workload: Workload, name: str) -> Fact[str] | None:
    return next((box.env[name] for box in _boxes(workload) if _on(box, name)), None)


@rule(
    "RAY-018",
    Severity.ERROR,
    demand="Direct streaming serves one model whose server is its own ingress.",
    reason="The builder raises when the application is built, or the processes disagree about who answers.",
    source="ray 2.60: llm/_internal/serve/core/ingress/builder.py (_validate_direct_streaming_ingress_config); serve/_private/build_app.py",
    remedy="Leave the switch out, or give the application what it needs.",
    fault="direct-streaming",
    links=("https://docs.ray.io/en/latest/serve/llm/index.html",),
)
def direct_streaming(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    switch = _first(workload, _STREAMING) if workload.ray else None
    if switch is None or workload.ray is None:
        return
    level = Severity.ERROR if workload.ray.release == _READ else Severity.WARNING
    for text, remedy, path in _refused(workload):
        yield Hit(path or switch.path, text, remedy, severity=level)
    for box in _boxes(workload):
        if _STREAMING not in box.env and not box.env_from:
            text = (
                f"{_STREAMING}=1 stands in some pods of the cluster, and not in container {box.name}: its processes build the other ingress"
            )
            yield Hit(box.path or switch.path, text, "set it on the head and on every worker group", severity=Severity.WARNING)


# The builders that hand the choice of a replica to a router of their own, which Serve runs behind its HAProxy only.
_ROUTED = ("build_openai_app", "build_dp_openai_app", "build_pd_openai_app")


def _refused(workload: Workload) -> Iterator[tuple[str, str, str]]:
    """(what is wrong, fix, path) of each thing that the builder, or Serve for it, refuses."""
    boxes = _boxes(workload)
    routed = [each for each in (workload.ray.deployments if workload.ray else ()) if each.builder in _ROUTED]
    head = boxes[0] if boxes else None
    if routed and head and not head.env_from and _PROXY not in head.env:
        text = f"direct streaming attaches an ingress request router, which needs HAProxy, and the head has no {_PROXY}=1"
        yield text, f"set {_PROXY}=1 on the head and on every worker group", ""
    for deployment in workload.ray.deployments if workload.ray else ():
        if deployment.builder == "build_openai_app" and deployment.configs > 1:
            text = f"direct streaming takes one LLM config, and the application has {deployment.configs}"
            yield text, "give each model an application of its own, or remove the switch", deployment.path
        if deployment.ingress_options:
            text = "direct streaming has no ingress of its own, so it refuses options for one"
            yield text, "move them to the deployment_config of the LLM config", deployment.ingress_options
        if deployment.adapters and not any(_on(box, _BODIES) for box in _boxes(workload)):
            text = f"adapters with direct streaming need {_BODIES}=1"
            yield text, "set it on the head and on every worker group", f"{deployment.path}.lora_config"


@rule(
    "RAY-019",
    Severity.WARNING,
    demand="Serve's HAProxy has memory for the bodies that it holds.",
    reason="The proxy is killed for memory in the middle of every answer that runs through it.",
    source="ray 2.60 serve/_private/constants.py: memory cost is about 2 x bufsize x maxconn",
    remedy="Lower the connections or the buffer, or raise the pod's memory.",
    fault="haproxy-memory",
)
def proxy_memory(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for box in _boxes(workload) if workload.ray else ():
        buffer, most = _whole(box, _BUFFER, 8 * 1024 * 1024), _whole(box, _CONNECTIONS, 4096)
        limit = box.limits.get("memory", Fact()).map(bytes_of)
        if not (_on(box, _PROXY) and _on(box, _BODIES)) or buffer is None or most is None or not limit.known:
            continue
        need = 2 * buffer * most
        if need > limit.get():
            sums = f"2 x {buffer / 1024**2:g} MiB x {most} connections = {need / GIB:g} GiB"
            text = f"bodies are held for the router: up to {sums}, and the container may use {limit.get() / GIB:.3g} GiB"
            fits = max(1, limit.get() // (4 * buffer))
            remedy = (
                f"lower {_CONNECTIONS} to {fits} or less (half of the memory), or make {_BUFFER} smaller: longer bodies are cut for routing"
            )
            yield Hit(box.env[_BODIES].path, text, remedy, str(most))


def _whole(box: Container, name: str, default: int) -> int | None:
    fact = box.env.get(name, Fact()).map(int)
    return default if fact.absent else fact.value if fact.known else None


@rule(
    "RAY-020",
    Severity.WARNING,
    demand="The route of an incremental upgrade lets answers end.",
    reason="KubeRay makes that route and states no timeout, so the controller's default ends longer answers from the first upgrade on.",
    source="kuberay v1.6 controllers/ray/rayservice_controller.go createHTTPRoute; infra/catalog/route_limits.json",
    remedy="Attach the controller's own timeout policy to the route.",
    fault="upgrade-route-without-timeout",
    settings={"answer_seconds": 600},
)
def upgrade_route(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    ray = workload.ray
    if ray is None or ray.upgrade.value != "NewClusterWithIncrementalUpgrade" or not ray.upgrade_gateway.known:
        return
    row = controllers().get(ray.upgrade_gateway.get())
    answer = workload.longest_answer.default(float(settings["answer_seconds"]))
    if row is None or not row["seconds"] or not answer.known or row["seconds"] >= answer.get():
        return
    name = f"{workload.origin.name}-httproute"
    text = f"requests go through {name}, which KubeRay makes without a timeout: {ray.upgrade_gateway.get()} ends an answer after "
    text += f"{row['seconds']} s, and answers may take {answer.get():g} s"
    remedy = f"attach a policy of the gateway's controller to {name} (BackendTrafficPolicy timeout.http.requestTimeout)"
    yield Hit(ray.upgrade_gateway.path, text, remedy, ray.upgrade_gateway.get())


@rule(
    "RAY-021",
    Severity.WARNING,
    demand="A router by prefix has a bound on how unequal the replicas may get.",
    reason="By default prefixes always win over load: one replica takes all requests that begin alike, and the others idle.",
    source="ray 2.60 llm/_internal/serve/routing_policies/prefix_aware/prefix_aware_router.py initialize_state",
    remedy="Set imbalanced_threshold.",
    fault="prefix-router-unbounded",
    links=("https://docs.ray.io/en/latest/serve/llm/user-guides/prefix-aware-routing.html",),
)
def prefix_router(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for deployment in workload.ray.deployments if workload.ray else ():
        if not str(deployment.router.value or "").endswith("PrefixCacheAffinityRouter"):
            continue
        place = deployment.router.path or where(workload, Place.ARGS)
        text = "PrefixCacheAffinityRouter looks at load only beyond imbalanced_threshold, which is infinite by default"
        if "imbalanced_threshold" not in deployment.router_options:
            remedy = "give request_router_kwargs an imbalanced_threshold, such as 10"
            yield Hit(place, text, remedy)
        if "do_eviction" not in deployment.router_options:
            text = "the router's tree of prefixes only grows: do_eviction is off by default"
            yield Hit(place, text, "give request_router_kwargs a do_eviction of true", severity=Severity.INFO)
