"""The cluster-wide part of a stack: the GPU layer and the priority classes."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from interlock.infra.config.base import Config, Image, Name


class GpuLayerKind(StrEnum):
    """Who makes GPUs visible to Kubernetes."""

    INSTALLED = "installed"
    DEVICE_PLUGIN = "device-plugin"


class MigBy(StrEnum):
    """Who cuts cards into MIG instances."""

    MANAGER = "manager"
    PREPARED = "prepared"


class GpuLayerConfig(Config):
    """The GPU layer: there already (GPU operator, a cloud's own plugin), or NVIDIA's device plugin by this stack."""

    kind: GpuLayerKind = GpuLayerKind.INSTALLED
    """installed or device-plugin."""
    namespace: Name | None = None
    """Namespace of the device plugin; omit for gpu-system with one of ours. Into the namespace of an installed one, MIG layouts are put
    only when it is named."""
    config_map: str | None = None
    """For installed: ConfigMap with the plugin's configs by name; shared and MIG pools are checked against its keys."""
    image: Image | None = None
    """Another image of the device plugin, with tag and digest; omit for the pinned one."""
    pull_secrets: tuple[str, ...] = ()
    """Names of existing pull Secrets in that namespace."""
    cdi: bool = True
    """Hand devices over by the Container Device Interface (containerd and CRI-O of the last years); false = environment variable."""
    driver_root: str = Field(default="/", pattern=r"^/")
    """Where the driver is installed on the nodes; ``/run/nvidia/driver`` for a driver container."""
    runtime_class: Name = "nvidia"
    """RuntimeClass that this stack makes with the device plugin."""

    mig: MigBy | None = None
    """Who cuts the cards of MIG pools beside our device plugin: manager (NVIDIA's MIG manager is there, its ``CONFIG_FILE`` is the
    ConfigMap ``<stack>-mig-parted``) or prepared (they are cut already)."""
    discovery: bool = False
    """Whether GPU feature discovery runs beside our device plugin, so that nodes carry labels such as ``nvidia.com/gpu.product``."""

    @model_validator(mode="after")
    def _found(self) -> Self:
        if self.config_map and self.kind is not GpuLayerKind.INSTALLED:
            raise ValueError("config_map names the configs of an installed layer; this one makes its own")
        if self.config_map and self.namespace is None:
            raise ValueError("config_map needs the namespace that it is in")
        return self

    @property
    def home(self) -> str:
        """Namespace of the layer's objects."""
        return self.namespace or "gpu-system"


class KubeRayConfig(Config):
    """The operator that makes Ray clusters. It must be there: a stack does not install it."""

    namespace: Name | None = None
    """Namespace of the operator; omit for kuberay-system. Only pods from there may reach the dashboards of our clusters."""

    @property
    def home(self) -> str:
        """Namespace of the operator."""
        return self.namespace or "kuberay-system"


class PriorityClassConfig(Config):
    """One PriorityClass; its name in the cluster is ``<stack>-<name>``."""

    name: Name
    """Name, as servers refer to it."""
    value: int = Field(ge=-2_147_483_648, le=1_000_000_000)
    """Higher goes first; 1,000,000,000 is the most that Kubernetes allows to users."""
    preempts: bool = True
    """Whether its pods may evict pods of lower value."""
    description: str = ""
    """For people."""


class PlatformConfig(Config):
    """What exists once per cluster."""

    gpu_layer: GpuLayerConfig = GpuLayerConfig()
    """Who makes GPUs visible to Kubernetes."""
    kuberay: KubeRayConfig = KubeRayConfig()
    """The operator of Ray clusters."""
    priority_classes: tuple[PriorityClassConfig, ...] = ()
    """Priority classes; serving above training makes inference preempt training."""
