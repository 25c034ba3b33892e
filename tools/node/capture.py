"""What Kubernetes and the engine say about one pod, as files: the raw material of a diagnosis."""

import json
from pathlib import Path
from typing import Any

from tools.cluster.lifecycle import kubectl
from tools.cluster.state import Cluster
from tools.common import ToolError

LOG_LINES = 400


def capture(cluster: Cluster, namespace: str, pod: str) -> dict[str, Any]:
    """The pod (without managed fields), its events oldest first, and the logs of its containers' present and last run."""
    get = ["-n", namespace, "get", "-o", "json"]
    found = json.loads(kubectl(cluster, *get, "pod", pod))
    found["metadata"].pop("managedFields", None)
    listed = json.loads(kubectl(cluster, *get, "events", f"--field-selector=involvedObject.name={pod}"))["items"]
    for event in listed:
        event["metadata"].pop("managedFields", None)
    names = [container["name"] for container in found["spec"]["containers"]]
    return {
        "pod.json": found,
        "events.json": sorted(listed, key=lambda event: event["metadata"]["creationTimestamp"]),
        **{f"{name}.log": _log(cluster, namespace, pod, name) for name in names},
        **{f"{name}.previous.log": _log(cluster, namespace, pod, name, "--previous") for name in names},
    }


def save(captured: dict[str, Any], folder: Path) -> None:
    """Writes what was captured, one file each; an empty log gets none."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in captured.items():
        if content:
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=1) + "\n")


def _log(cluster: Cluster, namespace: str, pod: str, container: str, *more: str) -> str:
    try:
        return kubectl(cluster, "-n", namespace, "logs", pod, "-c", container, f"--tail={LOG_LINES}", *more)
    except ToolError:
        # A container that has not run yet, or only once, has no such log.
        return ""
