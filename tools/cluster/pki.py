"""Certificates and kubeconfigs of a cluster: three authorities (cluster, etcd, front proxy) and what they sign, by openssl."""

import base64
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.cluster.state import KUBERNETES_SERVICE, Cluster
from tools.common import ToolError

DAYS = "365"
EXTENSIONS = """[leaf]
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature,keyEncipherment
extendedKeyUsage=serverAuth,clientAuth
subjectAltName={names}
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a certificate names (user and group in Kubernetes), and the authority that signs it."""

    user: str
    group: str = ""
    authority: str = "ca"


IDENTITIES = {
    "serving": Identity("interlock-control-plane"),
    "bootstrap": Identity("interlock:bootstrap", "system:masters"),
    "admin": Identity("interlock:admin", "interlock:admins"),
    "kube-controller-manager": Identity("system:kube-controller-manager"),
    "kube-scheduler": Identity("system:kube-scheduler"),
    "kwok": Identity("interlock:simulator"),
    "kubelet-client": Identity("kube-apiserver-kubelet-client"),
    "etcd": Identity("etcd", authority="etcd-ca"),
    "etcd-client": Identity("kube-apiserver-etcd-client", authority="etcd-ca"),
    "front-proxy": Identity("front-proxy-client", authority="front-proxy-ca"),
}


def create(cluster: Cluster) -> None:
    """Writes ``pki/``: the authorities, every identity's certificate and key, and the key that signs service account tokens."""
    if shutil.which("openssl") is None:
        raise ToolError("no openssl on PATH, which makes the cluster's certificates: install the package openssl")
    folder = cluster.folder / "pki"
    folder.mkdir(mode=0o700)
    for authority in ("ca", "etcd-ca", "front-proxy-ca"):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", f"{authority}.key"]
        _openssl(
            folder, "req", "-x509", *key, "-out", f"{authority}.crt", "-days", DAYS, "-subj", f"/CN=interlock-{cluster.name}-{authority}"
        )
    for name, identity in IDENTITIES.items():
        issue(cluster, name, identity)
    _openssl(folder, "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "service-accounts.key")
    _openssl(folder, "pkey", "-in", "service-accounts.key", "-pubout", "-out", "service-accounts.pub")


def issue(cluster: Cluster, name: str, identity: Identity, names: tuple[str, ...] = ()) -> None:
    """Signs ``pki/NAME.crt`` for ``identity``, valid for the cluster's own addresses and ``names`` ("IP:..." or "DNS:...")."""
    folder = cluster.folder / "pki"
    subject = (f"/O={identity.group}" if identity.group else "") + f"/CN={identity.user}"
    services = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"]
    addresses = sorted({cluster.address, "127.0.0.1", KUBERNETES_SERVICE})
    alternatives = [*(f"DNS:{service}" for service in services), *(f"IP:{address}" for address in addresses), *names]
    extensions = folder / f"{name}.cnf"
    extensions.write_text(EXTENSIONS.format(names=",".join(alternatives)))
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout", f"{name}.key"]
    _openssl(folder, "req", *key, "-out", f"{name}.csr", "-subj", subject)
    signer = ["-CA", f"{identity.authority}.crt", "-CAkey", f"{identity.authority}.key", "-CAcreateserial", "-days", DAYS]
    _openssl(
        folder, "x509", "-req", "-in", f"{name}.csr", *signer, "-extfile", extensions.name, "-extensions", "leaf", "-out", f"{name}.crt"
    )
    extensions.unlink()
    (folder / f"{name}.csr").unlink()


def kubeconfig(cluster: Cluster, identity: str, path: Path) -> Path:
    """Writes a kubeconfig (JSON is YAML) that holds the identity's certificate and verifies the API server's."""
    folder = cluster.folder / "pki"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": cluster.context, "cluster": {"server": cluster.server, "certificate-authority-data": embed(folder / "ca.crt")}}
        ],
        "users": [
            {
                "name": identity,
                "user": {
                    "client-certificate-data": embed(folder / f"{identity}.crt"),
                    "client-key-data": embed(folder / f"{identity}.key"),
                },
            }
        ],
        "contexts": [{"name": cluster.context, "context": {"cluster": cluster.context, "user": identity}}],
        "current-context": cluster.context,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=1))
    return path


def embed(path: Path) -> str:
    """A file as kubeconfigs and webhooks hold it."""
    return base64.b64encode(path.read_bytes()).decode()


def _openssl(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"`openssl {' '.join(arguments[:2])}` failed: {done.stderr.strip()}", 1)
