"""Asks a server for a chat completion through its Service, from inside the cluster's network.

usage: python -m tools.node.ask URL MODEL   (run by ``answer``, where Service addresses are reachable)
"""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

from tools.cluster import lifecycle as clusters
from tools.cluster.state import Cluster
from tools.common import ROOT, ToolError

QUESTION = "Is the signal clear?"
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A chat completion: what came back, from where, and how long the request took."""

    url: str
    model: str
    text: str
    seconds: float


def answer(cluster: Cluster, namespace: str, service: str, model: str) -> Answer:
    """The server's answer through the cluster IP of its Service. Raises ToolError (code 1) when none comes."""
    shown = clusters.kubectl(cluster, "-n", namespace, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}:{.spec.ports[0].port}")
    url = f"http://{shown}/v1/chat/completions"
    command = [*cluster.enter(), sys.executable, "-m", "tools.node.ask", url, model]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise ToolError(f"no answer from {url}: {done.stderr.strip()[-400:]}", 1)
    return Answer(**json.loads(done.stdout))


def post(url: str, model: str) -> Answer:
    """One request; refused connections are tried again while kube-proxy learns of the pod."""
    body = {"model": model, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 16, "temperature": 0}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        started = time.monotonic()
        try:
            with opener.open(request, timeout=60) as got:
                text = json.load(got)["choices"][0]["message"]["content"]
                return Answer(url, model, text, round(time.monotonic() - started, 2))
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{error.code}: {error.read().decode(errors='replace')[:300]}") from error
        except OSError as error:
            if time.monotonic() > deadline:
                raise SystemExit(str(error)) from error
            time.sleep(0.3)


if __name__ == "__main__":
    got = post(*sys.argv[1:3])
    print(json.dumps({"url": got.url, "model": got.model, "text": got.text, "seconds": got.seconds}))
