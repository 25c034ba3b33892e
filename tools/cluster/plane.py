"""The control plane's programs: their flags, the order in which they start, and how each says that it works."""

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tools.cluster import pki, processes
from tools.cluster.state import POD_RANGE, SERVICE_RANGE, SPARE_POD_RANGE, Cluster
from tools.common import ToolError

OBJECTS = Path(__file__).parent / "objects"
PATIENCE_SECONDS = 180.0
START_ORDER = (("etcd",), ("kube-apiserver",), ("kube-controller-manager", "kube-scheduler", "kwok"))


def start(cluster: Cluster, bin_folder: Path, on_ready: dict[str, Callable[[], None]]) -> None:
    """Starts all programs in order; ``on_ready[NAME]`` runs once NAME is healthy, before what comes after it.

    Raises ToolError (code 1) with the end of its log when a program ends or does not become healthy.
    """
    for wave in START_ORDER:
        for name in wave:
            processes.spawn(cluster, name, [str(bin_folder / name), *_flags(FLAGS[name](cluster))])
        for name in wave:
            wait_healthy(cluster, name)
            on_ready.get(name, lambda: None)()


def wait_healthy(cluster: Cluster, name: str) -> None:
    """Waits until ``name`` answers its health check."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not healthy(cluster, name):
        if not processes.alive(cluster.processes[name]):
            raise ToolError(f"{name} of cluster {cluster.name} ended while it started.\n{_end_of_log(cluster, name)}", 1)
        if time.monotonic() > deadline:
            raise ToolError(
                f"{name} of cluster {cluster.name} is not healthy after {PATIENCE_SECONDS:.0f} s.\n{_end_of_log(cluster, name)}", 1
            )
        time.sleep(0.1)


def healthy(cluster: Cluster, name: str) -> bool:
    """Whether ``name`` answers its health check now, its certificate verified."""
    scheme = "http" if name == "kwok" else "https"
    url = f"{scheme}://{cluster.address}:{cluster.ports[name]}{HEALTH[name]}"
    folder = cluster.folder / "pki"
    authority, client = ("etcd-ca", "etcd-client") if name == "etcd" else ("ca", "admin")
    try:
        context = ssl.create_default_context(cafile=str(folder / f"{authority}.crt"))
        context.load_cert_chain(folder / f"{client}.crt", folder / f"{client}.key")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
        with opener.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


HEALTH = {
    "etcd": "/health",
    "kube-apiserver": "/readyz",
    "kube-controller-manager": "/healthz",
    "kube-scheduler": "/healthz",
    "kwok": "/healthz",
}


def _flags(values: dict[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def _etcd(cluster: Cluster) -> dict[str, str]:
    client, peer = (f"{scheme}://{cluster.address}:{cluster.ports[port]}" for scheme, port in (("https", "etcd"), ("http", "etcd-peer")))
    pki_folder = cluster.folder / "pki"
    return {
        "name": cluster.name,
        "data-dir": str(cluster.folder / "etcd"),
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"{cluster.name}={peer}",
        "cert-file": str(pki_folder / "etcd.crt"),
        "key-file": str(pki_folder / "etcd.key"),
        "client-cert-auth": "true",
        "trusted-ca-file": str(pki_folder / "etcd-ca.crt"),
        # A cluster that dies is made anew, so that nothing is worth waiting for the disk.
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }


def _apiserver(cluster: Cluster) -> dict[str, str]:
    pki_folder = cluster.folder / "pki"
    files = {
        "etcd-cafile": "etcd-ca.crt",
        "etcd-certfile": "etcd-client.crt",
        "etcd-keyfile": "etcd-client.key",
        "client-ca-file": "ca.crt",
        "tls-cert-file": "serving.crt",
        "tls-private-key-file": "serving.key",
        "kubelet-client-certificate": "kubelet-client.crt",
        "kubelet-client-key": "kubelet-client.key",
        "kubelet-certificate-authority": "ca.crt",
        "requestheader-client-ca-file": "front-proxy-ca.crt",
        "proxy-client-cert-file": "front-proxy.crt",
        "proxy-client-key-file": "front-proxy.key",
        "service-account-key-file": "service-accounts.pub",
        "service-account-signing-key-file": "service-accounts.key",
    }
    return {
        "etcd-servers": f"https://{cluster.address}:{cluster.ports['etcd']}",
        "bind-address": cluster.address,
        # An endpoint may not be a loopback address; on loopback nobody can use the endpoint anyway.
        "advertise-address": cluster.address if cluster.namespace else "198.18.0.1",
        "secure-port": str(cluster.ports["kube-apiserver"]),
        "service-cluster-ip-range": SERVICE_RANGE,
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "kubelet-preferred-address-types": "InternalIP",
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        # The aggregator goes to the pod's address itself: there need not be a kube-proxy.
        "enable-aggregator-routing": "true",
        "profiling": "false",
    } | {flag: str(pki_folder / file) for flag, file in files.items()}


def _kubeconfig(cluster: Cluster, name: str) -> str:
    return str(pki.kubeconfig(cluster, name, cluster.folder / "pki" / f"{name}.kubeconfig"))


def _serving(cluster: Cluster, name: str) -> dict[str, str]:
    own = _kubeconfig(cluster, name)
    return {
        "kubeconfig": own,
        "authentication-kubeconfig": own,
        "authorization-kubeconfig": own,
        "bind-address": cluster.address,
        "secure-port": str(cluster.ports[name]),
        "tls-cert-file": str(cluster.folder / "pki" / "serving.crt"),
        "tls-private-key-file": str(cluster.folder / "pki" / "serving.key"),
        "leader-elect": "false",
        "profiling": "false",
    }


def _controller_manager(cluster: Cluster) -> dict[str, str]:
    pki_folder = cluster.folder / "pki"
    return _serving(cluster, "kube-controller-manager") | {
        "use-service-account-credentials": "true",
        "service-account-private-key-file": str(pki_folder / "service-accounts.key"),
        "root-ca-file": str(pki_folder / "ca.crt"),
        "cluster-signing-cert-file": str(pki_folder / "ca.crt"),
        "cluster-signing-key-file": str(pki_folder / "ca.key"),
        "allocate-node-cidrs": "true",
        "cluster-cidr": POD_RANGE,
        "service-cluster-ip-range": SERVICE_RANGE,
        "horizontal-pod-autoscaler-sync-period": "5s",
    }


def _scheduler(cluster: Cluster) -> dict[str, str]:
    return _serving(cluster, "kube-scheduler")


def _kwok(cluster: Cluster) -> dict[str, str]:
    stages = cluster.folder / "stages.yaml"
    stages.write_text((OBJECTS / "stages.yaml").read_text().replace("@VOLUMES@", json.dumps(str(cluster.folder / "volumes"))[1:-1]))
    return {
        "kubeconfig": _kubeconfig(cluster, "kwok"),
        "config": str(stages),
        "manage-all-nodes": "false",
        "manage-nodes-with-label-selector": "interlock.dev/simulated=true",
        "cidr": SPARE_POD_RANGE,
        "node-ip": cluster.address,
        "node-lease-duration-seconds": "40",
        "server-address": f"{cluster.address}:{cluster.ports['kwok']}",
    }


FLAGS: dict[str, Callable[[Cluster], dict[str, str]]] = {
    "etcd": _etcd,
    "kube-apiserver": _apiserver,
    "kube-controller-manager": _controller_manager,
    "kube-scheduler": _scheduler,
    "kwok": _kwok,
}


def _end_of_log(cluster: Cluster, name: str) -> str:
    log = cluster.folder / "logs" / f"{name}.log"
    lines = log.read_text(errors="replace").splitlines()[-8:] if log.exists() else []
    return "\n".join(f"  {line[:300]}" for line in lines) + f"\n  (its log: {log})"
