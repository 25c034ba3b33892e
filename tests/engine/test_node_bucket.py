"""From a bucket to an answer: a Job on the real node fetches a real checkpoint by S3 into an empty folder, and the real vLLM serves it."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tools.engine_env import env
from tools.images.root import TABLE
from tools.node.testing import STARTUP_SECONDS, RealNode, node_config

MODEL, REVISION, PORT = "interlock/tiny-dense", "v1", 18090
# A server of S3 with one model in a bucket, and a list of what it was asked for.
SERVER = """
import pathlib, sys, threading
import boto3
from moto.server import ThreadedMotoServer
folder, port = pathlib.Path(sys.argv[1]), int(sys.argv[2])
ThreadedMotoServer(ip_address="0.0.0.0", port=port, verbose=False).start()
keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", **keys)
client.create_bucket(Bucket="models")
for path in sorted(each for each in folder.rglob("*") if each.is_file()):
    client.upload_file(str(path), "models", f"tiny/{path.relative_to(folder)}")
print("ready", flush=True)
threading.Event().wait()
"""


@pytest.fixture
def bucket(real_node: RealNode) -> Iterator[str]:
    """The address of a bucket `models` as pods see it."""
    pytest.importorskip("moto.server")
    folder = env.model(env.folder(), "dense")
    command = [*real_node.cluster.enter(), sys.executable, "-c", SERVER, str(folder), str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        yield f"http://{real_node.cluster.address}:{PORT}"
        process.kill()


def stack(real_node: RealNode, namespace: str, endpoint: str) -> list[dict[str, Any]]:
    """The objects of a stack whose two servers read one model out of the bucket."""
    config = node_config(real_node.cluster.name, namespace)
    fetched = {"source": "s3://models/tiny", "endpoint": endpoint, "secret": "bucket", "image": TABLE["python"], "ignore": []}
    path = f"/var/lib/interlock/{namespace}"
    prefetch = {"model": MODEL, "revision": REVISION, **fetched}
    config["stores"] = [{"name": "models", "kind": "host-path", "path": path, "nodes": [real_node.node.name], "prefetch": [prefetch]}]
    server = config["servers"][0]
    del server["model"]["path"]
    server["model"]["revision"] = REVISION
    config["servers"].append({**server, "name": "twin", "replicas": 0})
    return [each for each in real_node.render(config) if each["kind"] != "Namespace"]


def test_a_real_checkpoint_goes_from_the_bucket_to_an_answer_of_the_real_engine(
    real_node: RealNode, namespace: str, bucket: str, record_property: Any
) -> None:
    made = stack(real_node, namespace, bucket)
    real_node.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=privileged", "--overwrite")
    keys = [f"--from-literal={name}=test" for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    real_node.kubectl("-n", namespace, "create", "secret", "generic", "bucket", *keys)
    started = time.monotonic()
    (job,) = [each for each in made if each["kind"] == "Job"]
    first, then = ([each for each in made if (each["kind"] == "Deployment") is later] for later in (False, True))
    for objects in (first, then):
        real_node.kubectl("apply", "--server-side", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        if objects is first:
            real_node.wait(f"job/{job['metadata']['name']}", "condition=Complete", namespace, seconds=240)
            fetched = time.monotonic() - started
    said = real_node.kubectl("-n", namespace, "logs", f"job/{job['metadata']['name']}").splitlines()[-1]
    assert "by entity tag" in said
    real_node.wait("deployment/chat", "condition=Available", namespace, seconds=STARTUP_SECONDS)
    record_property("bucket", f"fetched after {fetched:.0f} s ({said}), Ready after {time.monotonic() - started:.0f} s")
    assert real_node.answer(namespace)
