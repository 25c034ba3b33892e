"""Stores on a real node: a download that is killed goes on where it was, and pods read it from a folder of the node or a local volume."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.images.root import TABLE
from tools.node.testing import RealNode, node_config

REVISION = "c" * 40
MODEL = "interlock/tiny"
SIZE = 40 * 1024 * 1024
# A hub of one file that sends slowly until the file `fast` appears, and writes down every range that it was asked for.
HUB = """
import hashlib, http.server, json, pathlib, sys, time
folder, size, port = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
data = bytes(range(256)) * (size // 256)
row = {"rfilename": "model.safetensors", "size": size, "lfs": {"sha256": hashlib.sha256(data).hexdigest()}}
class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        if self.path.startswith("/api/"):
            body = json.dumps({"siblings": [row]}).encode()
            self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
            return
        asked = self.headers.get("Range", "bytes=0-")
        start = int(asked[6:-1])
        with open(folder / "asked", "a") as log: log.write(f"{start}\\n")
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(size - start))
        if start: self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()
        for at in range(start, size, 65536):
            self.wfile.write(data[at:at + 65536])
            if not (folder / "fast").exists(): time.sleep(0.05)
http.server.ThreadingHTTPServer(("0.0.0.0", port), Hub).serve_forever()
"""


@pytest.fixture
def hub(real_node: RealNode, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """(its folder, its address as pods see it)."""
    port = 18080
    command = [*real_node.cluster.enter(), sys.executable, "-c", HUB, str(tmp_path), str(SIZE), str(port)]
    with subprocess.Popen(command) as process:
        yield tmp_path, f"http://{real_node.cluster.address}:{port}"
        process.kill()


def stack(real_node: RealNode, namespace: str, store: dict[str, Any], endpoint: str) -> list[dict[str, Any]]:
    config = node_config(real_node.cluster.name, namespace)
    prefetch = {"model": MODEL, "revision": REVISION, "endpoint": endpoint, "image": TABLE["python"]}
    config["stores"] = [{"name": "models", "prefetch": [prefetch], **store}]
    config["servers"][0] |= {"model": {"id": MODEL, "revision": REVISION, "weights_gib": 0.04}, "replicas": 0}
    level = "pod-security.kubernetes.io/enforce"
    made = [each for each in real_node.render(config) if each["kind"] != "Namespace"]
    real_node.kubectl("label", "namespace", namespace, f"{level}=privileged", "--overwrite")
    return made


def reader(volume: dict[str, Any]) -> dict[str, Any]:
    show = f"import os; print(os.path.getsize('/w/{MODEL}/{REVISION}/model.safetensors'))"
    container = {
        "name": "read",
        "image": TABLE["python"],
        "command": ["python3", "-c", show],
        "volumeMounts": [{"name": "w", "mountPath": "/w"}],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "w", **volume}],
        "restartPolicy": "Never",
        "tolerations": [{"operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reader"}, "spec": spec}


def fetched(real_node: RealNode, namespace: str, folder: Path, made: list[dict[str, Any]], *, kill: bool) -> dict[str, Any]:
    """Applies the stack's volumes and Job, kills the first download when asked, and returns the finished Job."""
    kinds = ("ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim", "Job")
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": [each for each in made if each["kind"] in kinds]})
    real_node.kubectl("apply", "--server-side", "-f", "-", given=given)
    if kill:
        real_node.until((folder / "asked").exists, "the first request")
        (pod,) = real_node.get("pods", "-n", namespace, "-l", "app.kubernetes.io/name=interlock-weights")["items"]
        size = f"import glob, os; print(sum(os.path.getsize(f) for f in glob.glob('/store/{MODEL}/{REVISION}/*part')))"
        run = ("-n", namespace, "exec", pod["metadata"]["name"], "--", "python3", "-c", size)
        real_node.until(lambda: int(real_node.kubectl(*run)) > 1_000_000, "a megabyte")
        real_node.kubectl("delete", "pod", pod["metadata"]["name"], "-n", namespace, "--grace-period=0", "--force")
    (folder / "fast").touch()
    name = next(each["metadata"]["name"] for each in made if each["kind"] == "Job")
    real_node.wait(f"job/{name}", "condition=Complete", namespace, seconds=240)
    found: dict[str, Any] = real_node.get("job", name, "-n", namespace)
    return found


def test_a_killed_download_goes_on_where_it_was_and_pods_read_it_from_the_nodes_folder(
    real_node: RealNode, namespace: str, hub: tuple[Path, str]
) -> None:
    folder, endpoint = hub
    path = f"/var/lib/interlock/{namespace}"
    made = stack(real_node, namespace, {"kind": "host-path", "path": path, "nodes": [real_node.node.name]}, endpoint)
    fetched(real_node, namespace, folder, made, kill=True)
    starts = [int(line) for line in (folder / "asked").read_text().split()]
    assert starts[0] == 0
    assert starts[-1] > 1_000_000
    real_node.apply(reader({"hostPath": {"path": path}}), namespace=namespace)
    real_node.wait("pod/reader", "jsonpath={.status.phase}=Succeeded", namespace)
    assert real_node.kubectl("-n", namespace, "logs", "reader").strip() == str(SIZE)


def test_a_local_volume_is_filled_and_read_on_its_node(real_node: RealNode, namespace: str, hub: tuple[Path, str]) -> None:
    folder, endpoint = hub
    path = f"/var/lib/interlock/{namespace}"
    maker = reader({"hostPath": {"path": path, "type": "DirectoryOrCreate"}})
    maker["metadata"]["name"] = "maker"
    # A local volume's folder is made by whoever prepares the node; the Job writes as user 2000.
    maker["spec"]["containers"][0]["command"] = ["python3", "-c", "import os; os.chmod('/w', 0o777)"]
    real_node.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=privileged", "--overwrite")
    real_node.apply(maker, namespace=namespace)
    real_node.wait("pod/maker", "jsonpath={.status.phase}=Succeeded", namespace)
    made = stack(real_node, namespace, {"kind": "local", "path": path, "nodes": [real_node.node.name], "size": "1Gi"}, endpoint)
    try:
        job = fetched(real_node, namespace, folder, made, kill=False)
        assert job["status"]["succeeded"] == 1
        real_node.apply(reader({"persistentVolumeClaim": {"claimName": "models"}}), namespace=namespace)
        real_node.wait("pod/reader", "jsonpath={.status.phase}=Succeeded", namespace)
        assert real_node.kubectl("-n", namespace, "logs", "reader").strip() == str(SIZE)
    finally:
        real_node.kubectl("delete", "pods,jobs,pvc", "--all", "-n", namespace, "--wait=true", "--timeout=60s")
        names = [each["metadata"]["name"] for each in made if each["kind"] == "PersistentVolume"]
        real_node.kubectl("delete", "pv", *names, "--wait=false")
        real_node.kubectl(
            "delete", "storageclass", "--ignore-not-found", *(each["metadata"]["name"] for each in made if each["kind"] == "StorageClass")
        )
