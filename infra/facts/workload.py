"""Facts of one workload: an engine, its containers and pods, and how they are replaced."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from interlock.infra.facts.devices import Device
from interlock.infra.facts.fact import Fact, absent, unknown
from interlock.infra.facts.origin import Origin, Place
from interlock.infra.facts.probe import Probe
from interlock.infra.facts.ray import RayFacts
from interlock.infra.facts.supervisor import Supervisor
from interlock.infra.values import Version

FACTS_VERSION = 1


@dataclass(frozen=True, slots=True)
class Flag:
    """One engine argument as written."""

    name: str
    """Canonical name in vLLM's own spelling with dashes and no leading ones: ``tensor-parallel-size``."""
    value: Fact[str]
    """Its value as text; ``"true"`` for a bare switch, ``"false"`` for ``--no-...``."""
    raw: str = ""
    """The text as written (``-tp``, ``--tensor_parallel_size=2``)."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ArgProblem:
    """Argument text that the engine's parser cannot take, or that does not do what it seems to."""

    kind: str
    """Fault kind: ``broken-arg``, ``entrypoint-replaced``, ``dup-flag``, ..."""
    text: str
    path: str = ""
    remedy: str = ""
    """Empty: that of any text which the parser cannot take."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One recognised engine process group."""

    name: str = "vllm"
    """``vllm``; other engines (sglang, tgi, ollama, ...) are named and skipped."""
    container: str = ""
    """The container it runs in; empty for operator forms without one."""
    version: Fact[str] = Fact()
    """vLLM version from the image tag or a field."""
    model: Fact[str] = Fact()
    """Model id or path as given."""
    folder: Fact[str] = Fact()
    """Folder that its files are read from, where ``model`` is the id of what lies there."""
    entrypoint: str = ""
    """``serve``, ``module`` (``python -m``), ``image`` (the image's own), ``shell``, ``operator``, ``ray-serve`` (keyword arguments)."""
    tensor_parallel: Fact[int] = Fact()
    pipeline_parallel: Fact[int] = Fact()
    data_parallel: Fact[int] = Fact()
    data_parallel_local: Fact[int] = Fact()
    prefill_context_parallel: Fact[int] = Fact()
    port: Fact[int] = Fact()
    flags: tuple[Flag, ...] = ()
    """All arguments in order, also those with fields of their own above."""
    env: Mapping[str, Fact[str]] = field(default_factory=dict)
    """Environment of the engine's container."""
    problems: tuple[ArgProblem, ...] = ()
    complete: bool = True
    """False when part of the command line cannot be read (a script, a template): absent flags are then unknown."""
    listed: bool = False
    """Every argument that the file gives is read, and only what the image's own entrypoint adds is not known."""
    attention_heads: Fact[int] = Fact()
    kv_heads: Fact[int] = Fact()
    weight_bytes: Fact[int] = Fact()
    """Bytes of the whole checkpoint at the stated quantization, from the catalog or the config."""
    load_seconds: Fact[float] = Fact()
    """Predicted time from container start to ready, likely."""
    least_load_seconds: Fact[float] = Fact()
    """The same, low end: less than this is too little on any network."""
    max_position: Fact[int] = Fact()
    """Longest context of the model's own config, in tokens."""
    quantization: Fact[str] = Fact()
    """Quantization of the checkpoint itself (awq, gptq, fp8, ...; ``none`` for an unquantized one)."""
    dtype: Fact[str] = Fact()
    """Dtype of the checkpoint: bfloat16, float16, float32."""
    lora_rank: Fact[int] = Fact()
    """Largest rank of the adapters that will be loaded."""
    open: Fact[bool] = Fact()
    """A person said that it asks for no key."""
    production: Fact[bool] = Fact()
    """Whether its stack is for production."""
    router: Fact[str] = Fact()
    """The router that a person named, which splits requests between this engine and the other side of its pair."""
    supervisor: Supervisor | None = None
    """Our supervisor, where it starts the engine."""
    longest_step: Fact[float] = Fact()
    """Predicted upper bound of one step in seconds."""
    config: Mapping[str, Any] | None = None
    """The model's config.json, whole, where it was given; wins over the catalog."""
    vocabulary: Fact[int] = Fact()
    """Vocabulary of the model, where stated."""
    draft_vocabulary: Fact[int] = Fact()
    """Vocabulary of the speculative draft model, where stated."""

    @property
    def release(self) -> Version | None:
        """The release of vLLM that runs; None when it is not known."""
        return Version.released(str(self.version.value)) if self.version.known else None

    @property
    def parsed(self) -> bool:
        """Whether vLLM's own parser reads the flags; Ray Serve hands keywords to the engine instead."""
        return self.entrypoint != "ray-serve"

    def flag(self, name: str) -> Fact[str]:
        """The value of the last ``--name``; absent when it is not given, unknown when the command line cannot be read whole."""
        for given in reversed(self.flags):
            if given.name == name:
                return given.value
        if self.complete:
            return absent()
        return unknown(why="the image's own entrypoint is not known" if self.listed else "part of the command line cannot be read")


class Role(StrEnum):
    """What a container is for."""

    ENGINE = "engine"
    SIDECAR = "sidecar"
    INIT = "init"


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume mounted into a container."""

    volume: str
    mount_path: str
    read_only: bool = False
    sub_path: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Volume:
    """A pod volume. ``kind`` is the source's field name: emptyDir, persistentVolumeClaim, hostPath, configMap, secret, image, csi, ...;
    ``volumeClaimTemplate`` for a claim of its own per replica."""

    name: str
    kind: str
    path: str = ""
    claim: str = ""
    medium: str = ""
    size_limit: Fact[int] = Fact()
    """Bytes."""
    host_path: str = ""


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod."""

    name: str
    role: Role = Role.SIDECAR
    path: str = ""
    image: Fact[str] = Fact()
    command: Fact[tuple[str, ...]] = Fact()
    args: Fact[tuple[str, ...]] = Fact()
    requests: Mapping[str, Fact[str]] = field(default_factory=dict)
    """Resource name to quantity as text."""
    limits: Mapping[str, Fact[str]] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    """DRA resource claims used."""
    devices: tuple[Device, ...] = ()
    """What these claims allocate, where their objects or templates are in the set."""
    env: Mapping[str, Fact[str]] = field(default_factory=dict)
    """Plain values known; valueFrom and expansions unknown with the reason."""
    env_from: bool = False
    env_sources: Mapping[str, str] = field(default_factory=dict)
    """Env name to source: ``secretKeyRef:NAME/KEY``, ``configMapKeyRef:...``, ``fieldRef:...``."""
    probes: Mapping[str, Probe] = field(default_factory=dict)
    """By kind."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """Port name (or ``"#<i>"`` without one) to container port."""
    ports_open: bool = False
    """A port's name or number cannot be read."""
    mounts: tuple[Mount, ...] = ()
    pre_stop: Fact[float] = Fact()
    """Seconds that preStop waits; unknown when it is a command that cannot be read."""
    security: Mapping[str, Fact[str]] = field(default_factory=dict)
    """securityContext fields as text (``seccompProfile.type``, lists with commas), the pod's included; ``""`` where one cannot be read."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod template of a replica."""

    path: str = ""
    role: str = ""
    """Empty for one-pod replicas; ``leader``, ``worker``, ``head``, ... otherwise."""
    count: Fact[int] = Fact()
    """Pods of this template in one replica (absent = 1)."""
    containers: tuple[Container, ...] = ()
    preflight: Container | None = None
    """Our own look at the machine before the engine starts: a copy of the engine's container that starts no engine."""
    open: bool = False
    """Its containers, or where it may run, cannot be read."""
    volumes: tuple[Volume, ...] = ()
    node_selector: Mapping[str, Fact[str]] = field(default_factory=dict)
    affinity: bool = False
    """A node affinity or topology constraint is stated."""
    apart: bool = False
    """No two of its pods may share a node (a required anti-affinity against its own labels)."""
    tolerations: tuple[str, ...] = ()
    """Tolerated taint keys; ``*`` tolerates all."""
    host_ipc: bool = False
    host_network: bool = False
    own_users: bool = False
    service_links: Fact[bool] = Fact()
    """enableServiceLinks; absent means true."""
    grace_period: Fact[float] = Fact()
    """terminationGracePeriodSeconds; absent means 30."""
    runtime_class: Fact[str] = Fact()
    priority_class: Fact[str] = Fact()
    service_account_token: Fact[bool] = Fact()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    def engines(self) -> tuple[Container, ...]:
        """The containers that run an engine."""
        return tuple(container for container in self.containers if container.role is Role.ENGINE)


@dataclass(frozen=True, slots=True)
class Rollout:
    """How pods are replaced."""

    strategy: Fact[str] = Fact()
    """RollingUpdate or Recreate; absent means the kind's default."""
    max_surge: Fact[str] = Fact()
    """Number or percentage as text; absent means 25%."""
    max_unavailable: Fact[str] = Fact()
    progress_deadline: Fact[float] = Fact()
    """Seconds; absent means 600."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """Everything rules may ask about one workload."""

    origin: Origin
    engine: Engine = Engine()
    vendor: Fact[str] = Fact()
    """nvidia, amd, tpu, gaudi, neuron, ascend, xpu, cpu."""
    replicas: Fact[int] = Fact()
    pods: tuple[Pod, ...] = ()
    rollout: Rollout = Rollout()
    selector: Mapping[str, str] = field(default_factory=dict)
    pool: Fact[str] = Fact()
    """Name of the node pool it is meant for, when one is known."""
    gpu: Fact[str] = Fact()
    """GPU as the documents state it (product label, accelerator label, instance type); catalog name where one fits."""
    ray: RayFacts | None = None
    """The Ray layer, for workloads that run on Ray."""
    service_name: Fact[str] = Fact()
    """Name of the governing Service (StatefulSet ``serviceName``)."""
    autoscaled: bool = False
    """The object itself says that something scales it (KubeAI minReplicas, Knative, chart values)."""
    longest_answer: Fact[float] = Fact()
    """Seconds of the longest answer that a client may wait for, where something states it."""
    operator_adds: frozenset[str] = frozenset()
    """What an operator adds by itself: ``probes``, ``shm``, ``gpus``, ``service-links-off``, ``ports``."""
    paths: Mapping[Place, str] = field(default_factory=dict)
    """Where to point when a fact is absent."""
    facts_version: int = FACTS_VERSION
