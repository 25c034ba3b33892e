"""Dynamic resource allocation: GPUs by ResourceClaimTemplate in place of the device plugin's resources.

Shapes: resource.k8s.io/v1 (Kubernetes 1.34 and later). Device classes and attributes are those of NVIDIA's DRA driver, which
advertises ``gpu.nvidia.com`` and ``mig.nvidia.com``; allocation by that driver was not tried here.
"""

from typing import Any

from interlock.infra.manifests.common import server_manifest
from interlock.infra.manifests.placed import Manifest, put
from interlock.infra.naming import content_hash, joined
from interlock.infra.plan.pools import device_class
from interlock.infra.plan.types import ClusterPlan, PlannedPool, PlannedServer

CLAIM = "gpus"
DRIVER = "gpu.nvidia.com"


def _profile(resource: str) -> str:
    prefix = "nvidia.com/mig-"
    return resource.removeprefix(prefix) if resource.startswith(prefix) else ""


def claim_template(plan: ClusterPlan, pool: PlannedPool, server: PlannedServer) -> Manifest:
    """The template of a server's claims, named by its content because its spec cannot be changed."""
    spec = put({"spec": {"devices": _devices(pool, server)}}, "gpus", "claim")
    made = server_manifest(plan, server, "resource.k8s.io/v1", "ResourceClaimTemplate", spec=spec)
    made["metadata"]["name"] = put(claim_name(pool, server), "gpus", "claim")
    return made


def claim_name(pool: PlannedPool, server: PlannedServer) -> str:
    """Name of the server's claim template."""
    return joined(server.name, CLAIM, content_hash(_devices(pool, server)))


def _devices(pool: PlannedPool, server: PlannedServer) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": device_class(pool.resource), "allocationMode": "ExactCount", "count": server.pods[0].gpus}
    if profile := _profile(pool.resource):
        exactly["selectors"] = [{"cel": {"expression": f"device.attributes['{DRIVER}'].profile == '{profile}'"}}]
    return {"requests": [{"name": CLAIM, "exactly": exactly}]}
