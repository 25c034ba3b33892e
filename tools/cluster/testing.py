"""What cluster tests hold in their hands: the running control plane, and Pulumi projects on it."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tools import pulumi_env
from tools.cluster import lifecycle, nodes
from tools.cluster.state import Cluster

GRACE_SECONDS = 30
TIMED_OUT = 124
"""Exit code of a command that was stopped for taking too long, as coreutils' ``timeout`` has it."""


@dataclass(frozen=True)
class LocalCluster:
    """A running local control plane.

    ``kubeconfig`` and ``context`` name it; ``environment`` is a whole environment for subprocesses in which kubectl and pulumi work
    on it; ``bin`` holds the toolchain's programs; ``cluster`` is the handle of tools.cluster (addresses, processes, ``enter()``).
    """

    cluster: Cluster
    bin: Path

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    @property
    def context(self) -> str:
        return self.cluster.context

    @cached_property
    def environment(self) -> dict[str, str]:
        return os.environ | pulumi_env.variables(self.cluster, self.bin)

    @cached_property
    def client(self) -> Any:
        """An administrator's ``kubernetes.client.ApiClient``."""
        from kubernetes import config

        return config.new_client_from_config(str(self.kubeconfig), self.context)

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What ``kubectl ARGUMENTS`` prints; raises ToolError with its error."""
        return lifecycle.kubectl(self.cluster, *arguments, given=given)

    def get(self, *arguments: str) -> Any:
        """``kubectl get ARGUMENTS -o json``, parsed."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, *objects: Mapping[str, Any], namespace: str = "default") -> None:
        """Applies plain objects, on the server's side."""
        given = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.kubectl("apply", "--server-side", "-n", namespace, "-f", "-", given=given)

    def wait(self, what: str, condition: str, namespace: str = "default", seconds: int = 180) -> None:
        """``kubectl wait``: ``what`` is kind/name, ``condition`` is condition=Ready, jsonpath=..., or delete."""
        self.kubectl("wait", what, f"--for={condition}", "-n", namespace, f"--timeout={seconds}s")

    def run(self, *command: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs a command inside the cluster's network, where pod and service addresses are local (root only)."""
        return subprocess.run(
            [*self.cluster.enter(), *command], env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
        )

    def set_nodes(self, *wanted: dict[str, Any]) -> None:
        """Makes the simulated nodes exactly these and waits until they are Ready (``gpu_node`` builds one)."""
        nodes.apply(self.cluster, nodes.parse(json.dumps(wanted), "test"))


def gpu_node(
    name: str, product: str = "NVIDIA-H100-80GB-HBM3", gpus: int = 8, memory_mib: int = 81559, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A Node as the device plugin and GPU feature discovery would make it."""
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti", "nvidia.com/gpu": str(gpus)}
    discovered = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": product,
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.memory": str(memory_mib),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": discovered | dict(labels or {})},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


@dataclass(frozen=True)
class Outcome:
    """What a pulumi command did: exit code, everything it printed, and for ``--json`` commands the parsed output.

    ``changes`` counts the steps by operation (``{"create": 3, "same": 1}``), ``steps`` maps the URN's last two parts (``Type::name``)
    to the operation, ``diagnostics`` are the messages of severity error and warning without colour.
    """

    code: int
    text: str
    changes: dict[str, int] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)
    diagnostics: tuple[str, ...] = ()


class PulumiProject:
    """A copy of a Pulumi project on the session's cluster, its state in a file backend of its own."""

    def __init__(self, folder: Path, stack: str, environment: dict[str, str]) -> None:
        self.folder = folder
        self.stack = stack
        self.environment = environment

    def run(self, *arguments: str, timeout: float = 300) -> Outcome:
        """Runs ``pulumi ARGUMENTS --non-interactive`` in the project's folder and never raises; what takes too long has code 124."""
        command = ["pulumi", *arguments, "--non-interactive", "--color=never"]
        with subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                stdout, stderr = _interrupted(process)
                return _outcome(TIMED_OUT, stdout, f"{stderr}\n`pulumi {' '.join(arguments)}` did not end in {timeout:.0f} s")
        return _outcome(process.returncode, stdout, stderr)

    def preview(self, *arguments: str) -> Outcome:
        return self.run("preview", "--json", "--stack", self.stack, *arguments)

    def up(self, *arguments: str) -> Outcome:
        return self.run("up", "--yes", "--skip-preview", "--json", "--stack", self.stack, *arguments)

    def refresh(self, *arguments: str) -> Outcome:
        return self.run("refresh", "--yes", "--skip-preview", "--json", "--stack", self.stack, *arguments)

    def destroy(self, *arguments: str) -> Outcome:
        return self.run("destroy", "--yes", "--skip-preview", "--json", "--stack", self.stack, *arguments)

    def outputs(self) -> Any:
        """The stack's outputs, secrets masked."""
        return json.loads(self.checked("stack", "output", "--json", "--stack", self.stack))

    def resources(self) -> list[dict[str, Any]]:
        """The resources in the stack's state."""
        found: list[dict[str, Any]] = json.loads(self.checked("stack", "export", "--stack", self.stack))["deployment"].get("resources", [])
        return found

    def set_config(self, key: str, value: str, *arguments: str) -> None:
        self.checked("config", "set", key, value, "--stack", self.stack, *arguments)

    def checked(self, *arguments: str) -> str:
        """What ``pulumi ARGUMENTS`` prints; fails the test with its error."""
        done = subprocess.run(["pulumi", *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


def _interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Lets pulumi cancel its update, which ends its plugins as well; what it printed."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.communicate()


def _outcome(code: int, stdout: str, stderr: str) -> Outcome:
    events = _json_documents(stdout)
    changes: dict[str, int] = {}
    steps: dict[str, str] = {}
    diagnostics: list[str] = []
    for event in events:
        for step in event.get("steps", ()):
            steps[_short(step["urn"])] = step["op"]
        for operation in ("resourcePreEvent", "resOutputsEvent"):
            if operation in event:
                metadata = event[operation]["metadata"]
                steps[_short(metadata["urn"])] = metadata["op"]
        changes = event.get("changeSummary") or event.get("summaryEvent", {}).get("resourceChanges") or changes
        raised = [*event.get("diagnostics", ()), *([event["diagnosticEvent"]] if "diagnosticEvent" in event else [])]
        diagnostics += [
            re.sub(r"<\{%.*?%\}>", "", entry["message"]).strip() for entry in raised if entry.get("severity") in ("error", "warning")
        ]
    return Outcome(code, stdout + stderr, changes, steps, tuple(diagnostics))


def _short(urn: str) -> str:
    kind, name = urn.split("::")[2:4]
    return f"{kind.split('$')[-1]}::{name}"


def _json_documents(text: str) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    documents, position = [], 0
    while (position := text.find("{", position)) >= 0:
        try:
            document, position = decoder.raw_decode(text, position)
        except ValueError:
            position += 1
            continue
        documents.append(document)
    return documents
