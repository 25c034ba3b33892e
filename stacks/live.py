"""What the cluster has and does now, for what only it can tell: an installed GPU layer, nodes in use."""

from typing import Any

import pulumi

from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.bundles import gpu_layer, missing_classes
from interlock.infra.naming import label
from interlock.infra.preview.sharing_changes import LiveNode, sharing_changes
from interlock.stacks.api import ApiError, Reader
from interlock.stacks.settings import Settings
from interlock.stacks.target import connect


def report_sharing(settings: Settings) -> None:
    """Warns of nodes in use whose sharing would change. A deployer that may not look at nodes and pods is told so, not stopped."""
    try:
        nodes = live_nodes(connect(settings))
    except ApiError as error:
        pulumi.log.info(f"nodes and pods cannot be listed ({error}), so changes of sharing on used nodes are not seen")
        return
    for finding in sharing_changes(settings.config.pools, nodes):
        pulumi.log.warn(finding.text())


def check_gpu_layer(settings: Settings) -> None:
    """An installed GPU layer has the config of every shared pool. Raises ConfigError with what is missing."""
    layer = gpu_layer(settings.config, settings.stack)
    if not layer.check:
        return
    namespace, _, name = layer.check.partition("/")
    try:
        found = connect(settings).get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    except ApiError as error:
        wrong = [f"ConfigMap {layer.check} cannot be read: {error}"]
    else:
        wrong = missing_classes(layer, frozenset(found.get("data") or {}))
    if wrong:
        raise ConfigError([Problem("platform.gpu_layer.config_map", text, settings.source) for text in wrong])


def live_nodes(api: Reader) -> list[LiveNode]:
    """The nodes of pools, each with the pods on it that hold GPU units."""
    nodes = api.get("/api/v1/nodes", labelSelector=label("pool"))["items"]
    if not nodes:
        return []
    users: dict[str, list[str]] = {node["metadata"]["name"]: [] for node in nodes}
    for pod in api.get("/api/v1/pods", fieldSelector="spec.nodeName!=")["items"]:
        at = pod["spec"].get("nodeName")
        if at in users and pod["status"].get("phase") in ("Pending", "Running") and _holds_gpus(pod):
            users[at].append(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
    named = ((node["metadata"]["name"], node["metadata"].get("labels", {})) for node in nodes)
    return [LiveNode(name, dict(labels), tuple(sorted(users[name]))) for name, labels in named]


def _holds_gpus(pod: dict[str, Any]) -> bool:
    limits = [container.get("resources", {}).get("limits") or {} for container in pod["spec"]["containers"]]
    return any(name.startswith("nvidia.com/") and amount != "0" for each in limits for name, amount in each.items())
