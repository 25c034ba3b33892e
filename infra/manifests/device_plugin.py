"""NVIDIA's device plugin: namespace, RuntimeClass, configs by class of nodes, DaemonSet, and the MPS daemon where a pool needs it."""

from collections.abc import Sequence
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.platform import GpuLayerConfig, GpuLayerKind
from interlock.infra.config.pools import Allocation, PoolConfig
from interlock.infra.config.taints import taint
from interlock.infra.manifests.common import MANAGED_BY, Manifest, manifest
from interlock.infra.manifests.plugin_config import facts, placed_configs, plugin_configs
from interlock.infra.naming import content_hash, joined, label
from interlock.infra.plan.shares import PLUGIN_CONFIG, shared_by_mps

MPS_ROOT = "/run/nvidia/mps"
CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
"""Toleration of add-ons by which a node is of use: as in the plugin's own chart."""
COMPONENT = "app.kubernetes.io/component"


def plugin_pools(config: ClusterConfig) -> list[PoolConfig]:
    """Pools whose GPUs the device plugin advertises."""
    return [pool for pool in config.pools if pool.allocation is Allocation.DEVICE_PLUGIN]


def device_plugin_objects(config: ClusterConfig, stack: str) -> list[Manifest]:
    """All objects of the GPU layer, in the order in which they must exist; none when it is installed already."""
    layer, pools = config.platform.gpu_layer, plugin_pools(config)
    if layer.kind is not GpuLayerKind.DEVICE_PLUGIN or not pools:
        return []
    data = plugin_configs(pools, layer)
    configs = joined(stack, "device-plugin", content_hash(data))
    names = _labels(stack, "device-plugin")
    # hostPath volumes and the plugin's capabilities are refused by the other levels.
    level = {**names, "pod-security.kubernetes.io/enforce": "privileged"}
    objects = [
        manifest("v1", "Namespace", layer.home, None, level),
        manifest("node.k8s.io/v1", "RuntimeClass", layer.runtime_class, None, names, handler="nvidia"),
        *_account(stack, layer, names),
        manifest("v1", "ConfigMap", configs, layer.home, names, immutable=True, data=placed_configs(config, data)),
        _daemon_set(config, stack, "device-plugin", pools, _plugin_pod(layer, configs, bool(_mps(pools)))),
    ]
    if _mps(pools):
        objects.append(_daemon_set(config, stack, "mps-control-daemon", _mps(pools), _mps_pod(layer, configs)))
    return objects


def _mps(pools: Sequence[PoolConfig]) -> list[PoolConfig]:
    return [pool for pool in pools if shared_by_mps(pool)]


def _labels(stack: str, component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "nvidia-device-plugin",
        COMPONENT: component,
        "app.kubernetes.io/managed-by": MANAGED_BY,
        label("stack"): stack,
    }


def _account(stack: str, layer: GpuLayerConfig, names: dict[str, str]) -> list[Manifest]:
    """The config manager reads its node's labels."""
    name = joined(stack, "device-plugin")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": layer.home}]
    return [
        manifest("v1", "ServiceAccount", name, layer.home, names),
        manifest("rbac.authorization.k8s.io/v1", "ClusterRole", name, None, names, rules=rules),
        manifest("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name, None, names, roleRef=role, subjects=subjects),
    ]


def _daemon_set(config: ClusterConfig, stack: str, component: str, pools: Sequence[PoolConfig], pod: dict[str, Any]) -> Manifest:
    """A DaemonSet on the nodes of ``pools``; the config's hash is in the template, so that a changed config restarts it."""
    layer, names = config.platform.gpu_layer, _labels(stack, component)
    configs = next(volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume)
    taints = sorted({text for pool in pools for text in pool.taints})
    node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": _terms(pools)}}
    spec = {
        "priorityClassName": "system-node-critical",
        "runtimeClassName": layer.runtime_class,
        "serviceAccountName": joined(stack, "device-plugin"),
        "enableServiceLinks": False,
        "affinity": {"nodeAffinity": node},
        "tolerations": [*(taint(text).toleration for text in taints), CRITICAL],
        **({"imagePullSecrets": [{"name": name} for name in layer.pull_secrets]} if layer.pull_secrets else {}),
        **pod,
    }
    template = {"metadata": {"labels": names, "annotations": {label("config"): configs}}, "spec": spec}
    selector = {key: names[key] for key in (COMPONENT, label("stack"))}
    body = {"selector": {"matchLabels": selector}, "updateStrategy": {"type": "RollingUpdate"}, "template": template}
    return manifest("apps/v1", "DaemonSet", joined(stack, component), layer.home, names, spec=body)


def _terms(pools: Sequence[PoolConfig]) -> list[dict[str, Any]]:
    """The nodes of the pools: those that carry our label, and each other pool's by its own ones."""
    marked = sorted(pool.name for pool in pools if pool.marked)
    ours = [{"matchExpressions": [{"key": label("pool"), "operator": "In", "values": marked}]}] if marked else []
    others = [sorted(pool.labels.items()) for pool in pools if not pool.marked]
    return ours + [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in each]} for each in others]


def _image(layer: GpuLayerConfig) -> str:
    return layer.image or str(facts()["image"])


def _config_manager(layer: GpuLayerConfig, name: str, process: str | None) -> dict[str, Any]:
    """Copies the entry that the node's label names; as a sidecar it signals ``process`` when the label changes.

    Without a label or with one that names no entry it fails, which is seen; a default would advertise the wrong number of units.
    """
    env = {
        "ONESHOT": "false" if process else "true",
        "KUBECONFIG": "",
        "NODE_LABEL": PLUGIN_CONFIG,
        "CONFIG_FILE_SRCDIR": "/available-configs",
        "CONFIG_FILE_DST": "/config/config.yaml",
        "DEFAULT_CONFIG": "",
        "FALLBACK_STRATEGIES": "",
        "SEND_SIGNAL": "true" if process else "false",
        "SIGNAL": "1" if process else "",
        "PROCESS_TO_SIGNAL": process or "",
    }
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return {
        "name": name,
        "image": _image(layer),
        "command": ["config-manager"],
        "env": [node, *({"name": key, "value": value} for key, value in env.items())],
        "securityContext": _rights(process),
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "volumeMounts": _mounts(("available-configs", "/available-configs"), ("config", "/config")),
    }


def _rights(process: str | None) -> dict[str, Any]:
    """A signal to a process of another container needs the shared process namespace and that one's privileges; a copied file needs none."""
    if process is None:
        return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {"privileged": True} if "mps" in process else {"capabilities": {"add": ["SYS_ADMIN"]}}


def _mounts(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "mountPath": path} for name, path in pairs]


def _host(name: str, path: str, kind: str) -> dict[str, Any]:
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def _config_volumes(configs: str) -> list[dict[str, Any]]:
    return [{"name": "available-configs", "configMap": {"name": configs}}, {"name": "config", "emptyDir": {}}]


def _env(**values: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _plugin_pod(layer: GpuLayerConfig, configs: str, mps: bool) -> dict[str, Any]:
    """The plugin with its config manager (source: deployments/helm/nvidia-device-plugin, daemonset-device-plugin.yml)."""
    paths = [("kubelet-device-plugins", "/var/lib/kubelet/device-plugins"), ("driver-root", "/driver-root"), ("cdi-root", "/var/run/cdi")]
    paths += [("available-configs", "/available-configs"), ("config", "/config")]
    volumes = [
        _host("kubelet-device-plugins", "/var/lib/kubelet/device-plugins", "Directory"),
        _host("driver-root", layer.driver_root, "Directory"),
        _host("cdi-root", "/var/run/cdi", "DirectoryOrCreate"),
        *_config_volumes(configs),
    ]
    if mps:
        paths += [("mps-root", "/mps"), ("mps-shm", "/dev/shm")]
        volumes += [_host("mps-root", MPS_ROOT, "DirectoryOrCreate"), _host("mps-shm", f"{MPS_ROOT}/shm", "DirectoryOrCreate")]
    plugin = {
        "name": "nvidia-device-plugin",
        "image": _image(layer),
        "command": ["nvidia-device-plugin"],
        "env": _env(
            CONFIG_FILE="/config/config.yaml",
            MPS_ROOT=MPS_ROOT,
            NVIDIA_MIG_MONITOR_DEVICES="all",
            NVIDIA_VISIBLE_DEVICES="all",
            NVIDIA_DRIVER_CAPABILITIES="compute,utility",
        ),
        "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}},
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}},
        # The host's root: what reads the driver's libraries need not be able to write anywhere on the node.
        "volumeMounts": [mount | ({"readOnly": True} if mount["name"] == "driver-root" else {}) for mount in _mounts(*paths)],
    }
    return {
        "shareProcessNamespace": True,
        "initContainers": [_config_manager(layer, "config", None)],
        "containers": [plugin, _config_manager(layer, "config-sidecar", "nvidia-device-plugin")],
        "volumes": volumes,
    }


def _mps_pod(layer: GpuLayerConfig, configs: str) -> dict[str, Any]:
    """The MPS control daemon with its config manager (source: the same chart, daemonset-mps-control-daemon.yml)."""
    mount = {
        "name": "mount-shm",
        "image": _image(layer),
        "command": ["mps-control-daemon", "mount-shm"],
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "mps-root", "mountPath": "/mps", "mountPropagation": "Bidirectional"}],
    }
    daemon = {
        "name": "mps-control-daemon",
        "image": _image(layer),
        "command": ["mps-control-daemon"],
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            *_env(CONFIG_FILE="/config/config.yaml", NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility"),
        ],
        "securityContext": {"privileged": True},
        "volumeMounts": _mounts(
            ("mps-shm", "/dev/shm"), ("mps-root", "/mps"), ("available-configs", "/available-configs"), ("config", "/config")
        ),
    }
    return {
        "shareProcessNamespace": True,
        "initContainers": [mount, _config_manager(layer, "config", None)],
        "containers": [daemon, _config_manager(layer, "config-sidecar", "/usr/bin/mps-control-daemon")],
        "volumes": [
            _host("mps-root", MPS_ROOT, "DirectoryOrCreate"),
            _host("mps-shm", f"{MPS_ROOT}/shm", "DirectoryOrCreate"),
            *_config_volumes(configs),
        ],
    }
