"""What the cluster has and does now, for what only it can tell: an installed GPU layer, nodes in use."""

from typing import Any

import pulumi

from interlock.infra.errors import ConfigError, Problem
from interlock.infra.manifests.bundles import gpu_layer, missing_classes
from interlock.infra.naming import label
from interlock.infra.preview.sharing_changes import LiveNode, sharing_changes
from interlock.stacks.settings import Settings
from interlock.stacks.target import TIMEOUT, connect


def report_sharing(settings: Settings) -> None:
    """Warns of nodes in use whose sharing would change. A deployer that may not look at nodes and pods is told so, not stopped."""
    from kubernetes.client import ApiException  # noqa: PLC0415

    try:
        nodes = live_nodes(connect(settings))
    except ApiException as error:
        pulumi.log.info(
            f"nodes and pods cannot be listed ({error.status} {error.reason}), so changes of sharing on used nodes are not seen"
        )
        return
    for finding in sharing_changes(settings.config.pools, nodes):
        pulumi.log.warn(finding.text())


def check_gpu_layer(settings: Settings) -> None:
    """An installed GPU layer has the config of every shared pool. Raises ConfigError with what is missing."""
    from kubernetes.client import ApiException  # noqa: PLC0415

    layer = gpu_layer(settings.config, settings.stack)
    if not layer.check:
        return
    namespace, _, name = layer.check.partition("/")
    try:
        found = connect(settings).read_namespaced_config_map(name, namespace, _request_timeout=TIMEOUT)
    except ApiException as error:
        wrong = [f"ConfigMap {layer.check} cannot be read: {error.status} {error.reason}"]
    else:
        wrong = missing_classes(layer, frozenset(found.data or {}))
    if wrong:
        raise ConfigError([Problem("platform.gpu_layer.config_map", text, settings.source) for text in wrong])


def live_nodes(api: Any) -> list[LiveNode]:
    """The nodes of pools, each with the pods on it that hold GPU units."""
    nodes = api.list_node(label_selector=label("pool"), _request_timeout=TIMEOUT).items
    if not nodes:
        return []
    users: dict[str, list[str]] = {node.metadata.name: [] for node in nodes}
    for pod in api.list_pod_for_all_namespaces(field_selector="spec.nodeName!=", _request_timeout=TIMEOUT).items:
        if pod.spec.node_name in users and pod.status.phase in ("Pending", "Running") and _holds_gpus(pod):
            users[pod.spec.node_name].append(f"{pod.metadata.namespace}/{pod.metadata.name}")
    return [LiveNode(node.metadata.name, dict(node.metadata.labels), tuple(sorted(users[node.metadata.name]))) for node in nodes]


def _holds_gpus(pod: Any) -> bool:
    limits = [dict(container.resources.limits or {}) for container in pod.spec.containers if container.resources]
    return any(name.startswith("nvidia.com/") and amount != "0" for each in limits for name, amount in each.items())
