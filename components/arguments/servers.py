"""A server as the config describes it. Written by `python -m tools.component_arguments`."""

from typing import Any, NotRequired, TypedDict

import pulumi

from interlock.components.arguments.engine import EngineSettings
from interlock.components.arguments.scaling import AutoscaleSettings
from interlock.infra.config.exposure import RouteKind
from interlock.infra.config.models import ImageTrack
from interlock.infra.config.ray import Serve
from interlock.infra.config.runtime import LogForm
from interlock.infra.config.scaling import RolloutStrategy
from interlock.infra.config.servers import Balance
from interlock.infra.config.transfer import Connector, TransferRole
from interlock.infra.config.wishes import Goal, Task


class ModelSettings(TypedDict):
    """A model by its id, with the facts the catalog does not know."""

    id: str
    """Model id (``Qwen/Qwen2.5-7B-Instruct``); facts come from the catalog when it is known there."""
    revision: NotRequired[str]
    """Commit of the model repository; without one, a new commit changes the model at the next start of a pod."""
    path: NotRequired[str]
    """Folder inside the weights volume or image; omit to load the id from the hub or its cache."""
    attention_heads: NotRequired[int]
    """Attention heads, when the catalog does not know the model."""
    kv_heads: NotRequired[int]
    """KV heads, when the catalog does not know the model."""
    weights_gib: NotRequired[float]
    """Size of the checkpoint in GiB, when the catalog does not know the model."""
    max_position: NotRequired[int]
    """Longest context of the model, when the catalog does not know it."""
    config: NotRequired[dict[str, Any]]
    """The model's own config.json: a path beside the stack's file, or its content. It wins over the catalog; memory is planned from it."""
    unsized: NotRequired[str]
    """Reason to serve a model of which neither the catalog, config nor weights_gib says anything: its memory is then not planned."""


class ImageSettings(TypedDict):
    """The engine's image."""

    track: NotRequired[ImageTrack]
    """``deployment``: the pinned vLLM image; ``ray``: the pinned image with Ray and vLLM; ``cpu``: test only, the real engine without a
    GPU; omit for ray where ``serve`` is ray, else deployment."""
    reference: NotRequired[str]
    """Another image, with tag and digest; omit for the track's own."""
    vllm: NotRequired[str]
    """vLLM version inside ``reference``, such as 0.33.0; needed where its tag does not say it, as with an image of your own."""
    pull_policy: NotRequired[str]
    """imagePullPolicy; omit for IfNotPresent."""
    pull_secrets: NotRequired[list[pulumi.Input[str]]]
    """Names of existing pull Secrets."""
    registry: NotRequired[str]
    """Mirror that stands in for the image's own registry (air-gapped clusters)."""


class RouteSettings(TypedDict):
    """A route to one server: Gateway API HTTPRoute by default, Ingress and a plain load balancer supported."""

    kind: NotRequired[RouteKind]
    """httproute, ingress or load-balancer (the Service itself gets an address; every path of the engine is then exposed)."""
    host: pulumi.Input[str]
    """Host name that clients use."""
    gateway: NotRequired[pulumi.Input[str]]
    """Gateway that an HTTPRoute attaches to."""
    gateway_namespace: NotRequired[pulumi.Input[str]]
    """Its namespace; omit for the stack's own."""
    listener: NotRequired[str]
    """Listener of that Gateway (``sectionName``); omit for ``https`` with a tls_secret, else for every listener."""
    ingress_class: NotRequired[str]
    """Class of an Ingress."""
    timeout_seconds: NotRequired[int]
    """Seconds until the gateway cuts an answer; 0 = never."""
    tls_secret: NotRequired[pulumi.Input[str]]
    """Name of an existing TLS Secret, of an Ingress or of the Gateway's listener; omit for plain HTTP at this hop."""
    max_body: NotRequired[str]
    """Largest request that an Ingress of class nginx lets through; its own default is 1Mi, less than an image or a long prompt."""
    prefix: NotRequired[str]
    """Path in front of ``paths``, such as ``/chat``, which the server does not see: so several models share one host."""
    annotations: NotRequired[dict[str, str]]
    """Annotations of the HTTPRoute, the Ingress or the load balancer's Service, as their controller reads them; they win over ours."""
    paths: NotRequired[list[str]]
    """Path prefixes that are exposed."""
    split: NotRequired[dict[str, int]]
    """Percent of the requests that go to other servers of this stack, by name: a canary at 10, then 50, then 100, or the second colour.
    The rest goes to this server; only for kind httproute."""


class RuntimeSettings(TypedDict):
    """The supervisor around the engine (runtime.md). It needs an image whose ``python3`` is 3.11 or later, as in the stock one."""

    supervised: NotRequired[bool]
    """The engine runs under the supervisor: a drain loses no request, a hang is seen, and a pod says why it ended; false = the engine is
    the container's first process, drained by its own shutdown timeout and watched by /health."""
    preflight: NotRequired[bool]
    """An init container looks at GPUs, driver, memory and model files before the engine starts; omit to have it beside a supervisor."""
    hang_seconds: NotRequired[int]
    """Seconds without an engine step after which a pod that has work is replaced; omit to let the planner decide: the longest step,
    rounded up to 120, 300, 600, 900, 1800 or 3600 s, so that a new prediction restarts nothing."""
    log: NotRequired[LogForm]
    """text (the engine's lines as they are), or json (each line as one object)."""


class RolloutSettings(TypedDict):
    """How replicas are replaced on a change."""

    strategy: NotRequired[RolloutStrategy]
    """surge (one more pod first), in-place (one pod less first), recreate; omit to surge where a spare replica fits the pool."""
    drain_seconds: NotRequired[int]
    """Longest time a pod gets to finish its requests; omit for the longest answer plus a margin."""


class WishesSettings(TypedDict):
    """What is known about the use of a model. All of it is optional; what the plan takes in its place is named among its reasons."""

    longest_prompt: NotRequired[int]
    """Longest prompt in tokens; omit for what the model and the card hold (8192 when only longest_answer is stated)."""
    longest_answer: NotRequired[int]
    """Longest answer in tokens; omit for what the model and the card hold (2048 when only longest_prompt is stated)."""
    concurrent: NotRequired[int]
    """Requests at the same time over all replicas; omit for the engine's own limit."""
    requests_per_second: NotRequired[float]
    """Requests per second over all replicas, in place of ``concurrent``: multiplied by half of longest_answer_seconds."""
    goal: NotRequired[Goal]
    """latency (short steps, more cards per replica where they are free), throughput (large steps) or balanced."""
    quantized: NotRequired[bool]
    """Whether weights and KV cache may be stored in 8 bits where they would not fit otherwise; omit to be asked by a suggestion."""
    task: NotRequired[Task]
    """chat, code, embed, rerank or transcribe; omit for what the model's architecture is made for."""
    images: NotRequired[int]
    """Images in one prompt of a model that sees; 0 leaves its vision tower out; omit for the engine's own limit."""
    swaps_per_day: NotRequired[float]
    """How often the model is exchanged for another one, per day; counts in the decision about Ray."""
    one_scaler: NotRequired[bool]
    """Whether several models are to share GPUs behind one scaler; counts in the decision about Ray."""
    python_around: NotRequired[bool]
    """Whether own Python code stands around the engine and is to be scaled with it; counts in the decision about Ray."""


class TransferSettings(TypedDict):
    """One side of a pair. A router in front of both, which is not made here, sends each request to a prefill server first."""

    role: TransferRole
    """prefill (reads prompts, hands over their KV cache) or decode (writes the answers)."""
    connector: NotRequired[Connector]
    """nixl: vLLM's NixlConnector; the image must hold the library nixl."""
    router: NotRequired[str]
    """Service of the router that splits requests, in this namespace: clients ask it. Stated on one side, it counts for both."""
    port: NotRequired[int]
    """First port at which the other side asks for the cache; each data-parallel rank has the next one."""


class ExtraSettings(TypedDict):
    """Escape hatches. Rules run after them."""

    args: NotRequired[list[str]]
    """Arguments added at the end of the engine's command line."""
    env: NotRequired[dict[str, str]]
    """Environment added to the engine's container."""
    tolerations: NotRequired[list[dict[str, Any]]]
    """Tolerations added to the pod, as Kubernetes writes them."""
    annotations: NotRequired[dict[str, str]]
    """Annotations added to the pod."""
    pod_patch: NotRequired[dict[str, Any]]
    """Strategic merge into the pod template's ``spec``: mappings merge, lists with names merge by name, other lists are replaced."""


class ServerAccessSettings(TypedDict):
    """What one server opens."""

    keys: NotRequired[bool]
    """Ask for tenants' keys; omit for yes where the stack has access.tenants."""
    open: NotRequired[str]
    """Why whoever reaches the server may use it, such as a gateway that asks for keys itself. A route to a server without keys needs it."""
    routes: NotRequired[list[str]]
    """Further routes that a key opens, whole paths; without it completions, chat, responses, messages, embeddings, scores and models."""
    max_body: NotRequired[str]
    """Largest request."""
    cooling: NotRequired[bool]
    """Let fewer requests in while the cards are hotter than 85 degrees Celsius."""


class AdapterSettings(TypedDict):
    """One adapter."""

    name: str
    """Name that clients send as ``model``: letters, digits and . _ - / :"""
    path: str
    """Its folder in the engine's container, or its repository on the hub."""


class AdaptersSettings(TypedDict):
    """The adapters of a server."""

    modules: NotRequired[list[AdapterSettings]]
    """The adapters."""
    hot: NotRequired[bool]
    """Load them into the running engine from a mounted list: a change restarts nothing. false = they stand in the engine's arguments,
    and a change replaces the pods."""
    slots: NotRequired[int]
    """Adapters that the engine holds at most, the others in host memory; omit for as many as there are. Raising it replaces the pods."""
    rank: NotRequired[int]
    """Largest rank of an adapter, for which memory is planned: 1, 8, 16, 32, 64, 128, 256, 320 or 512."""


class ServerSettings(TypedDict):
    """One model behind one URL, in one or more replicas."""

    name: NotRequired[str]
    """Name of the server: its Service, Deployment and URL."""
    model: ModelSettings
    """The model."""
    served_name: NotRequired[str]
    """Name that clients send as ``model``; omit for the model's id."""
    pool: NotRequired[str]
    """Pool whose nodes it runs on."""
    serve: NotRequired[Serve]
    """deployment (pods of its own) or ray (a group of workers in a RayService, started by Ray Serve)."""
    ray_service: NotRequired[str]
    """RayService that runs it (``ray_services[].name``); omit for the one of the server's own name, with defaults where none is stated."""
    replicas: NotRequired[int]
    """Replicas; with autoscaling only the start value of the plan."""
    gpus: NotRequired[int]
    """GPUs of one replica (shares, on a shared pool); omit for TP x PP x DP."""
    nodes: NotRequired[int]
    """Nodes that one replica lies on, its GPUs spread evenly; omit for as few as hold them. More than one makes a LeaderWorkerSet."""
    balance: NotRequired[Balance]
    """Who takes the requests of a replica on several nodes: leader (one API server in front of all ranks), or nodes (each node for its own
    data-parallel ranks, behind the same Service)."""
    wishes: NotRequired[WishesSettings]
    """What is known about the use of the model; the engine's arguments are derived from it."""
    engine: NotRequired[EngineSettings]
    """Engine flags by vLLM's own names; what stands here is kept as it is."""
    adapters: NotRequired[AdaptersSettings]
    """LoRA adapters that it serves beside its model."""
    transfer: NotRequired[TransferSettings]
    """One side of a prefill/decode pair: servers of one model with the two roles; omit for a server that does both."""
    image: NotRequired[ImageSettings]
    """The engine's image."""
    weights: NotRequired[str]
    """Model store (``stores[].name``) that holds the weights; omit and each pod loads from the hub into its own volume."""
    compile_cache: NotRequired[str]
    """Store that keeps compiled kernels and graphs between starts; omit and each pod recompiles."""
    hub_token_secret: NotRequired[pulumi.Input[str]]
    """Existing Secret whose key ``token`` is the hub token."""
    cpu: NotRequired[str]
    """CPU request of the engine; omit for 2 + 2 per GPU, at most what a node can give each pod."""
    memory: NotRequired[str]
    """Memory request and limit of the engine; omit to let the planner decide from the weights."""
    shm: NotRequired[str]
    """Size of /dev/shm; omit for 1Gi, 8Gi with several GPUs."""
    startup_seconds: NotRequired[int]
    """Startup probe budget; omit to let the planner decide: the high end of the predicted start, rounded up to 300, 450, 600, 900,
    1200, 1800, 2700, 3600 s or a multiple of 1800 s, so that a new prediction restarts nothing."""
    longest_answer_seconds: NotRequired[int]
    """Longest answer that a client may wait for; timeouts and drain follow from it."""
    rollout: NotRequired[RolloutSettings]
    """How replicas are replaced."""
    runtime: NotRequired[RuntimeSettings]
    """What runs beside the engine in its pods."""
    autoscale: NotRequired[AutoscaleSettings]
    """Autoscaling; omit for a fixed number of replicas."""
    route: NotRequired[RouteSettings]
    """Route from outside; omit to serve inside the cluster only."""
    access: NotRequired[ServerAccessSettings]
    """Who may ask it, and for what."""
    service_account: NotRequired[str]
    """Service account of the pods: one of ``service_accounts``, or one that is there; omit for the namespace's default."""
    priority_class: NotRequired[str]
    """PriorityClass of the pods."""
    extra: NotRequired[ExtraSettings]
    """Escape hatches, judged by the same rules."""
