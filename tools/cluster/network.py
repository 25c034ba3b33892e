"""The network of a cluster: a namespace with a veth pair into the host, or loopback without root.

Pod, service and load balancer ranges are local inside the namespace only; the host gets no route for them.
"""

import hashlib
import ipaddress
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

from tools.cluster.state import LOCAL_RANGES, Cluster
from tools.common import ToolError

# Addresses for tests between networks (RFC 2544): nobody routes them. Each cluster gets four of them.
LINK_RANGE = ipaddress.ip_network("198.18.0.0/15")
SERVERS = {
    "kube-apiserver": 6443,
    "etcd": 2379,
    "etcd-peer": 2380,
    "kube-controller-manager": 10257,
    "kube-scheduler": 10259,
    "kwok": 10247,
}


def can_isolate() -> bool:
    """Whether this user may make network namespaces: root with iproute2 and nsenter on a kernel that allows it."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("nsenter")):
        return False
    return subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


def create(cluster: Cluster, isolated: bool, api_port: int | None) -> None:
    """Gives ``cluster`` its addresses and ports; in a namespace when ``isolated``.

    Raises ToolError when the asked port is in use.
    """
    if isolated:
        _isolate(cluster)
        cluster.ports = SERVERS | ({"kube-apiserver": api_port} if api_port else {})
        return
    if api_port and not _free(api_port):
        raise ToolError(f"--api-port {api_port}: the port is in use on 127.0.0.1; choose another, or leave it out to get a free one")
    cluster.ports = _free_ports(api_port)


def remove(cluster: Cluster) -> str:
    """Removes the namespace and both ends of the veth pair; returns the namespace's name, or "" when there was none."""
    namespace, interface = names(cluster)
    was_there = Path(f"/run/netns/{namespace}").exists()
    if was_there:
        _ip("netns", "delete", namespace)
    if Path(f"/sys/class/net/{interface}").exists():
        # The kernel may be removing it with its namespace at this very moment.
        subprocess.run(["ip", "link", "delete", interface], capture_output=True, check=False)
    return namespace if was_there else ""


def names(cluster: Cluster) -> tuple[str, str]:
    """The names of the cluster's namespace and of the host's interface, unique for its folder. (An interface's has at most 15 letters.)"""
    digest = _digest(cluster)
    return f"interlock-{cluster.name}-{digest[:6]}", f"ilk-{digest[:8]}"


def _digest(cluster: Cluster) -> str:
    return hashlib.sha256(str(cluster.folder).encode()).hexdigest()


def _isolate(cluster: Cluster) -> None:
    namespace, interface = names(cluster)
    host, cluster.address = _link_addresses(cluster)
    cluster.namespace = namespace
    cluster.save()
    _ip("netns", "add", namespace)
    _ip("link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    _ip("address", "add", f"{host}/30", "dev", interface)
    _ip("link", "set", interface, "up")
    inner = ["-n", namespace]
    _ip(*inner, "address", "add", f"{cluster.address}/30", "dev", "eth0")
    for device in ("lo", "eth0"):
        _ip(*inner, "link", "set", device, "up")
    for local in LOCAL_RANGES:
        _ip(*inner, "route", "add", "local", local, "dev", "lo", "src", cluster.address)


def _link_addresses(cluster: Cluster) -> tuple[str, str]:
    shown = json.loads(subprocess.run(["ip", "-json", "address"], capture_output=True, text=True, check=True).stdout)
    taken = {ipaddress.ip_address(info["local"]) for device in shown for info in device.get("addr_info", ())}
    count = LINK_RANGE.num_addresses // 4
    start = int(_digest(cluster), 16)
    for step in range(count):
        base = LINK_RANGE[(start + step) % count * 4]
        if base + 1 not in taken:
            return str(base + 1), str(base + 2)
    raise ToolError(f"no free addresses are left in {LINK_RANGE} for another cluster")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _free_ports(api_port: int | None) -> dict[str, int]:
    # All are held open together, so that none is handed out twice.
    probes = {name: socket.socket() for name in SERVERS}
    try:
        for probe in probes.values():
            probe.bind(("127.0.0.1", 0))
        ports = {name: int(probe.getsockname()[1]) for name, probe in probes.items()}
    finally:
        for probe in probes.values():
            probe.close()
    return ports | ({"kube-apiserver": api_port} if api_port else {})


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"`ip {' '.join(arguments)}` failed: {done.stderr.strip()}", 1)
