"""The components that the package ``interlock`` serves: all there are."""

import pulumi

from interlock.components.gpu_device_plugin import GpuDevicePlugin
from interlock.components.gpu_sharing import GpuSharing
from interlock.components.model_route import ModelRoute
from interlock.components.model_store import ModelStore
from interlock.components.node_pool import NodePool
from interlock.components.priority_classes import PriorityClasses
from interlock.components.queue_autoscaler import QueueAutoscaler
from interlock.components.ray_server import RayServer
from interlock.components.tenant import Tenant
from interlock.components.vllm_server import VllmServer
from interlock.components.workspace import Workspace

COMPONENTS: tuple[type[pulumi.ComponentResource], ...] = (
    VllmServer,
    RayServer,
    ModelRoute,
    QueueAutoscaler,
    ModelStore,
    Workspace,
    NodePool,
    GpuDevicePlugin,
    GpuSharing,
    PriorityClasses,
    Tenant,
)
"""In the order of docs/components.md."""
