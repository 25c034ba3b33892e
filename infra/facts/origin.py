"""Where an object was read from, and where in it something stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Place(StrEnum):
    """Where in a workload's object something stands, or would stand when it is absent."""

    CONTAINER = "container"
    ARGS = "args"
    ENV = "env"
    GPUS = "gpus"
    IMAGE = "image"
    MODEL = "model"
    PROBES = "probes"
    RESOURCES = "resources"
    SECURITY = "security"
    TENSOR_PARALLEL = "tensor_parallel"
    GRACE_PERIOD = "grace_period"
    RUNTIME_CLASS = "runtime_class"
    SERVICE_LINKS = "service_links"
    VOLUMES = "volumes"
    PROGRESS_DEADLINE = "progress_deadline"
    REPLICAS = "replicas"
    STRATEGY = "strategy"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a workload was read from."""

    kind: str = ""
    """Kubernetes kind (``Deployment``, ``LeaderWorkerSet``, ``RayService``) or ``Server`` for our own config."""
    name: str = ""
    namespace: str = ""
    file: str = ""
    document: int = 0
    """Index in the file, from 0."""
    path: str = ""
    """Path of the object inside the document; empty for the whole document."""
    form: str = ""
    """The recognition form: ``plan``, ``container``, ``shell``, ``ray-serve``, ``lws``, ``kserve``, ``chart-values``, ..."""
    ours: bool = False
    """Read from our own plan, where some rules are stricter."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of the object (waivers stand here)."""
    labels: Mapping[str, str] = field(default_factory=dict)
