"""The configuration files of the node's programs. All are written below the node's folder; JSON is YAML."""

import json
from typing import Any

from tools.cluster import pki
from tools.cluster.state import Cluster
from tools.images import root
from tools.node import needs
from tools.node.settings import POD_SUBNET, Node

SOCKET = "/run/containerd/containerd.sock"
CONTAINERD = """version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
  address = "{socket}"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "{pause}"
[plugins.'io.containerd.cri.v1.runtime']
  # Containers on a development machine: no profile to load, and no right to lower the score of a process.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["{cni}"]
    conf_dir = "{folder}/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def write(cluster: Cluster, node: Node) -> None:
    """Writes every file that the node's programs read, and issues their certificates."""
    node.at("cni").mkdir()
    text = CONTAINERD.format(socket=SOCKET, pause=root.TABLE["pause"], cni=needs.CNI_FOLDER, folder=node.folder)
    node.at("containerd.toml").write_text(text)
    _json(node, "cni/10-pods.conflist", network())
    for name, user, group in (("kubelet", f"system:node:{node.name}", "system:nodes"), ("kube-proxy", "system:kube-proxy", "")):
        pki.issue(cluster, f"node-{name}", pki.Identity(user, group), (f"DNS:{node.name}",))
        pki.kubeconfig(cluster, f"node-{name}", node.at(f"{name}.kubeconfig"))
    _json(node, "kubelet.yaml", kubelet(cluster, node))
    _json(node, "kube-proxy.yaml", kube_proxy(node))


def network() -> dict[str, Any]:
    """The pods' network: one bridge, addresses of ``POD_SUBNET``, no way out but through the node."""
    addresses = {"type": "host-local", "ranges": [[{"subnet": POD_SUBNET}]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True, "ipam": addresses}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}


def kubelet(cluster: Cluster, node: Node) -> dict[str, Any]:
    """The kubelet's configuration: certificates both ways, control groups below the node's own, no image collection."""
    folder = cluster.folder / "pki"
    cgroup_v1 = {"failCgroupV1": False} if needs.version() == 1 else {}
    return cgroup_v1 | {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(folder / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(folder / "node-kubelet.crt"),
        "tlsPrivateKeyFile": str(folder / "node-kubelet.key"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "resolvConf": "/dev/null",
        # Nobody answers there; without an address the kubelet warns about every pod.
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        "podLogsDir": str(node.at("pod-logs")),
        "volumePluginDir": str(node.at("volume-plugins")),
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "registerWithTaints": [{"key": key, "value": "present", "effect": "NoSchedule"} for key in node.taints],
        "nodeStatusUpdateFrequency": "2s",
    }


def kube_proxy(node: Node) -> dict[str, Any]:
    """kube-proxy by iptables. Every Service packet is masqueraded: pods of one bridge would answer each other past the translation."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "hostnameOverride": node.name,
        "clientConnection": {"kubeconfig": str(node.at("kube-proxy.kubeconfig"))},
        "bindAddress": node.address,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "iptables": {"masqueradeAll": True, "minSyncPeriod": "1s"},
        # The limits belong to the whole machine, and a namespace may not write them.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def _json(node: Node, name: str, content: dict[str, Any]) -> None:
    node.at(name).write_text(json.dumps(content, indent=1))
