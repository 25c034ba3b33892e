"""Dynamic resource allocation: GPUs by ResourceClaimTemplate in place of the device plugin's resources.

Shapes: resource.k8s.io/v1 (Kubernetes 1.34 and later). Device classes and attributes are those of NVIDIA's DRA driver, which
advertises ``gpu.nvidia.com`` and ``mig.nvidia.com``; allocation by that driver was not tried here.
"""

from copy import deepcopy
from typing import Any

from interlock.infra.manifests.common import Manifest, manifest
from interlock.infra.naming import content_hash, joined
from interlock.infra.plan.types import PlannedPool

CLAIM = "gpus"
DRIVER = "gpu.nvidia.com"


def device_class(resource: str) -> str:
    """The DeviceClass of the devices that the plugin would advertise as ``resource``."""
    return "mig.nvidia.com" if _profile(resource) else DRIVER


def _profile(resource: str) -> str:
    prefix = "nvidia.com/mig-"
    return resource.removeprefix(prefix) if resource.startswith(prefix) else ""


def claim_template(pool: PlannedPool, server: str, namespace: str, count: int, names: dict[str, str]) -> Manifest:
    """The template of a server's claims, named by its content because its spec cannot be changed."""
    exactly: dict[str, Any] = {"deviceClassName": device_class(pool.resource), "allocationMode": "ExactCount", "count": count}
    if profile := _profile(pool.resource):
        exactly["selectors"] = [{"cel": {"expression": f"device.attributes['{DRIVER}'].profile == '{profile}'"}}]
    devices = {"requests": [{"name": CLAIM, "exactly": exactly}]}
    name = joined(server, CLAIM, content_hash(devices))
    return manifest("resource.k8s.io/v1", "ResourceClaimTemplate", name, namespace, names, spec={"spec": {"devices": devices}})


def use_claims(pod: dict[str, Any], container: str, resource: str, template: str) -> dict[str, Any]:
    """The pod spec with its GPUs by claim: ``resource`` is gone from ``container``, which uses the claim of ``template`` instead."""
    made = deepcopy(pod)
    made["resourceClaims"] = [*made.get("resourceClaims", []), {"name": CLAIM, "resourceClaimTemplateName": template}]
    for each in made["containers"]:
        if each["name"] == container:
            for place in ("requests", "limits"):
                each["resources"].get(place, {}).pop(resource, None)
            each["resources"]["claims"] = [{"name": CLAIM}]
    return made
