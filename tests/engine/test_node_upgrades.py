"""Two replicas behind their Service are replaced one after another while clients stream: by an upgrade, by an eviction, by a rollback.

The tests go on where the one before left the stack: an engine's start is the most expensive thing here.
"""

import json
import subprocess
import time
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.plan.plan import plan
from tools.common import ROOT, ToolError
from tools.node.streams import CLIENTS, streaming
from tools.node.testing import HANG_SECONDS, STARTUP_SECONDS, Deployed, RealNode
from tools.runtime.load import Tally
from tools.starts.judged import Starts

#: The program of another release: its archive has another content, and so another ConfigMap.
ANOTHER_RELEASE = """from interlock.infra.manifests import archive

archive.METADATA += "Release: another\\n"
"""
PERIOD, FAILURES = 10, 2
PROBE_GRACE, DRAIN_GRACE = 30, 70


def whole(tally: Tally) -> None:
    """Every request was answered, or told to come back, and clients were there all the time."""
    fates = dict(tally.counts)
    assert fates.pop("ok") > CLIENTS
    assert fates.pop("http 503", 0) < 6 * CLIENTS
    assert fates == {}, (fates, tally.notes)


def archive_of(pod: dict[str, Any]) -> str:
    """The runtime's ConfigMap in a pod, or in the template of pods."""
    return str(next(each["configMap"]["name"] for each in pod["spec"]["volumes"] if each["name"] == "runtime"))


def settled(real_node: RealNode, namespace: str) -> list[dict[str, Any]]:
    """The two replicas, when both are Ready and no other pod is left."""

    def both() -> list[dict[str, Any]]:
        found = list(real_node.pods(namespace).values())
        return found if len(found) == 2 and all(map(ready, found)) else []

    found: list[dict[str, Any]] = real_node.until(both, "two ready replicas", STARTUP_SECONDS)
    return found


def ready(pod: dict[str, Any]) -> bool:
    """Whether it takes requests, and goes on to."""
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def test_an_upgrade_of_argument_and_runtime_loses_no_request(real_node: RealNode, deployed: Deployed, starts: Starts) -> None:
    before = settled(real_node, deployed.namespace)
    deployed.config["servers"][0]["engine"]["max_model_len"] = 384
    main = deployed.project.folder / "__main__.py"
    main.write_text(ANOTHER_RELEASE + (ROOT / "__main__.py").read_text())
    with streaming(real_node.cluster, deployed.namespace, "chat") as tally:
        deployed.up()
        after = settled(real_node, deployed.namespace)
    whole(tally)
    expected = plan(load(deployed.config), "node").servers[0].start.cold.container
    for pod in after:
        starts.add(pod["metadata"]["name"], real_node.start_seconds(pod), expected)
    assert all("384" in pod["spec"]["containers"][0]["args"] for pod in after)
    assert not {archive_of(pod) for pod in before} & {archive_of(pod) for pod in after}


def test_an_eviction_loses_no_request_within_the_budget_and_a_rollback_starts_with_the_archive_of_its_time(
    real_node: RealNode, deployed: Deployed
) -> None:
    namespace = deployed.namespace
    pods = settled(real_node, namespace)
    first, second = (pod["metadata"]["name"] for pod in pods)
    with streaming(real_node.cluster, namespace, "chat") as tally:
        evict(real_node, namespace, first)
        with pytest.raises(ToolError, match="disruption budget"):
            evict(real_node, namespace, second)
        real_node.kubectl("-n", namespace, "rollout", "undo", "deployment/chat")

        def back() -> bool:
            found = real_node.pods(namespace)
            return first not in found and any(ready(pod) and archive_of(pod) != archive_of(pods[0]) for pod in found.values())

        real_node.until(back, "a replica of the rollback", STARTUP_SECONDS)
    whole(tally)


def evict(real_node: RealNode, namespace: str, name: str) -> None:
    """What a drain of the node asks for each pod. Raises ToolError when the budget refuses it."""
    asked = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    real_node.kubectl("create", "--raw", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", "-f", "-", given=json.dumps(asked))


def test_a_hung_core_is_found_and_its_container_replaced_within_the_grace_of_the_probe(real_node: RealNode, deployed: Deployed) -> None:
    namespace = deployed.namespace
    # One that the rest of the rollback does not take away meanwhile.
    stays = archive_of(real_node.get("deployment", "chat", "-n", namespace)["spec"]["template"])
    name = next(name for name, pod in real_node.pods(namespace).items() if ready(pod) and archive_of(pod) == stays)
    inside = ["-n", namespace, "exec", name, "-c", "engine", "--"]
    pids = [line.split()[0] for line in real_node.kubectl(*inside, "ps", "-e", "-o", "pid,args").splitlines() if "EngineCore" in line]
    real_node.kubectl(*inside, "kill", "-STOP", *pids)
    stopped = time.monotonic()
    ask = ["curl", "-s", "-m", "120", "localhost:8000/v1/completions", "-H", "Content-Type: application/json"]
    with subprocess.Popen([*asking(real_node), *inside, *ask, "-d", json.dumps({"model": "tiny", "prompt": "hi"})]) as request:
        try:
            real_node.until(lambda: told(real_node, namespace, name), "the end of the container")
            found = time.monotonic() - stopped
            status = real_node.until(lambda: restarted(real_node, namespace, name), "the restart", DRAIN_GRACE)
            replaced = time.monotonic() - stopped - found
        finally:
            request.kill()
    assert found < HANG_SECONDS + (FAILURES + 2) * PERIOD
    assert replaced < PROBE_GRACE + PERIOD < DRAIN_GRACE
    assert status["exitCode"] == 5
    assert status["message"].startswith("hung and ended")


def told(real_node: RealNode, namespace: str, name: str) -> bool:
    """Whether the kubelet has said that it ends the container for its liveness."""
    return any(reason == "Killing" and "liveness" in message for reason, message in real_node.events(namespace, name))


def asking(real_node: RealNode) -> list[str]:
    return ["kubectl", f"--kubeconfig={real_node.kubeconfig}"]


def restarted(real_node: RealNode, namespace: str, name: str) -> dict[str, Any]:
    """How the container's life before this one ended; empty while it is the first."""
    status = real_node.pods(namespace)[name]["status"]["containerStatuses"][0]
    ended: dict[str, Any] = status["lastState"].get("terminated", {})
    return ended
