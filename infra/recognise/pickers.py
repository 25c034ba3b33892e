"""InferencePools, DeviceClasses and device plugins."""

import re
from collections.abc import Iterator

from interlock.infra.facts import DeviceClass, DevicePlugin, EndpointPool
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin

# Image of a device plugin -> the resource that it advertises where nothing is renamed.
_PLUGINS = (
    (re.compile(r"(^|/)k8s-device-plugin([:@]|$)"), "nvidia.com/gpu"),
    (re.compile(r"(^|/)rocm/k8s-device-plugin([:@]|$)"), "amd.com/gpu"),
)


def read_endpoint_pool(root: Node, document: Document, context: Context) -> Iterator[EndpointPool]:
    """An InferencePool of the released or of an older API."""
    spec = root["spec"]
    selector = spec.at("selector", "matchLabels").texts() or {k: v for k, v in spec["selector"].texts().items() if k != "matchLabels"}
    ports = tuple(port["number"].integer() for port in spec["targetPorts"].items())
    old = (spec["targetPortNumber"].integer(),) if spec["targetPortNumber"] else ()
    picker = spec.first("endpointPickerRef", "extensionRef")
    yield EndpointPool(origin(root, document), selector, ports or old, picker["failureMode"].text())


def read_device_class(root: Node, document: Document, context: Context) -> Iterator[DeviceClass]:
    """A DeviceClass."""
    name = root.at("spec", "extendedResourceName")
    if name:
        yield DeviceClass(origin(root, document), name.text())


def read_device_plugin(root: Node, document: Document, context: Context) -> Iterator[DevicePlugin]:
    """A DaemonSet that runs a device plugin."""
    for container in root.at("spec", "template", "spec", "containers").items():
        image = container["image"].string()
        for pattern, resource in reversed(_PLUGINS):
            if pattern.search(image):
                yield DevicePlugin(origin(root, document), resource, container["image"].path)
                break
