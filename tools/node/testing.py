"""What engine tests hold in their hands: the running real node, and the program's stack on it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from interlock.infra.config import load
from interlock.infra.manifests.common import Manifest
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject
from tools.common import ROOT
from tools.node.ask import answer
from tools.node.settings import Node
from tools.node.stack import STACK

#: An engine's start is 40 to 70 s of processor time: a machine that runs many other things at once may need minutes for it.
STARTUP_SECONDS = 900
#: The stack's server has two, and a third while one is replaced; the rest is for the tests' own pods.
SLICES = 4
#: Of the stack's server: the shortest that can be stated. A step of the tiny model takes milliseconds.
HANG_SECONDS = 10


def node_config(cluster: str, namespace: str) -> dict[str, Any]:
    """The config of Pulumi.node.yaml for another cluster; the one card is given out in time slices."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "Pulumi.node.yaml").read_text())["config"]["interlock:cluster"]
    config |= {"target": {"local": cluster}, "namespace": namespace}
    config["pools"][0] |= {"gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": SLICES}}
    config["servers"][0] |= {"startup_seconds": STARTUP_SECONDS}
    return config


def replicated(cluster: str, namespace: str) -> dict[str, Any]:
    """The same with two replicas, which fit beside a third, and whose hang is noticed soon."""
    config = node_config(cluster, namespace)
    config["servers"][0] |= {"replicas": 2, "memory": "4Gi", "runtime": {"hang_seconds": HANG_SECONDS}}
    return config


@dataclass(frozen=True)
class RealNode(LocalCluster):
    """A running local cluster with one real node."""

    node: Node

    def render(self, config: dict[str, Any]) -> list[Manifest]:
        """The objects that the program makes of ``config``."""
        loaded = load(config)
        return render(loaded, plan(loaded, STACK))

    def pods(self, namespace: str, selector: str = "interlock.dev/server=chat") -> dict[str, dict[str, Any]]:
        """The pods that ``selector`` finds, by name, the newest last."""
        found: list[dict[str, Any]] = self.get("pods", "-n", namespace, "-l", selector)["items"]
        return {pod["metadata"]["name"]: pod for pod in sorted(found, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))}

    def pod(self, namespace: str, selector: str = "interlock.dev/server=chat") -> dict[str, Any]:
        """The newest of them."""
        return list(self.pods(namespace, selector).values())[-1]

    @staticmethod
    def start_seconds(pod: dict[str, Any]) -> float:
        """Seconds from the start of a Ready pod's engine container until it was Ready."""
        ready = next(each["lastTransitionTime"] for each in pod["status"]["conditions"] if each["type"] == "Ready")
        began = pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        return (datetime.fromisoformat(ready) - datetime.fromisoformat(began)).total_seconds()

    def free_units(self) -> int:
        """How many ``nvidia.com/gpu`` no pod has."""
        containers = [container for pod in self.get("pods", "-A")["items"] for container in pod["spec"]["containers"]]
        return self.node.units - sum(int(each.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0)) for each in containers)

    def until(self, check: Callable[[], Any], what: str, seconds: float = 240) -> Any:
        """The first true value of ``check``; fails the test when there is none."""
        deadline = time.monotonic() + seconds
        while not (value := check()):
            assert time.monotonic() < deadline, f"{what}: not seen in {seconds:.0f} s"
            time.sleep(0.5)
        return value

    def events(self, namespace: str, name: str) -> list[tuple[str, str]]:
        """Reason and message of every event of one object."""
        found = self.get("events", "-n", namespace, f"--field-selector=involvedObject.name={name}")
        return [(event["reason"], event["message"]) for event in found["items"]]

    def answer(self, namespace: str) -> str:
        """What the stack's server says, through its Service."""
        return answer(self.cluster, namespace, "chat", "tiny").text


@dataclass
class Deployed:
    """The program's stack on the real node."""

    project: PulumiProject
    config: dict[str, Any]
    outcome: Outcome

    @property
    def namespace(self) -> str:
        namespace: str = self.config["namespace"]
        return namespace

    def up(self) -> Outcome:
        """Writes the config and deploys it."""
        path = self.project.folder / f"Pulumi.{STACK}.yaml"
        data = yaml.safe_load(path.read_text()) if path.exists() else {}
        path.write_text(yaml.safe_dump({**data, "config": {"interlock:cluster": self.config}}))
        command = ["up", "--yes", "--skip-preview", "--json", "--stack", STACK]
        self.outcome = self.project.run(*command, timeout=2 * STARTUP_SECONDS)
        assert self.outcome.code == 0, self.outcome.text
        return self.outcome
