"""Engines that cannot work: what Kubernetes and vLLM say of each is kept in tests/data/failures, and two are seen anew here."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.node import capture
from tools.node.testing import STARTUP_SECONDS, RealNode, node_config

FAILURES = Path(__file__).parents[1] / "data" / "failures"
TABLE: dict[str, Any] = json.loads((FAILURES / "cases.json").read_text())
CASES: dict[str, dict[str, Any]] = TABLE["cases"]
KEEP = "INTERLOCK_KEEP_FAILURES" in os.environ
LIVE = list(CASES) if KEEP else TABLE["live"]


def ended(pod: dict[str, Any]) -> dict[str, Any]:
    """How the container's last run ended."""
    found: dict[str, Any] = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
    return found


def check(case: dict[str, Any], seen: dict[str, Any]) -> None:
    """What was captured is what the table says of the case."""
    end = ended(seen["pod.json"])
    assert (end["exitCode"], end["reason"]) == (case["exit_code"], case["reason"])
    assert case["log"] in seen["engine.previous.log"]
    reasons = {event["reason"] for event in seen["events.json"]}
    assert {"Scheduled", "Pulled", "Created", "Started"} <= reasons
    assert end["message"], "FallbackToLogsOnError gives the end of the log"


@pytest.mark.parametrize("name", CASES)
def test_the_kept_failure_is_whole(name: str) -> None:
    files = {path.name: path.read_text() for path in (FAILURES / name).iterdir()}
    seen = {key: json.loads(text) if key.endswith(".json") else text for key, text in files.items()}
    check(CASES[name], seen)
    home = str(Path.home())
    assert not any(home in text for text in files.values()), "a path of the machine that captured it"


@pytest.fixture
def fail(real_node: RealNode, namespace: str) -> Callable[[str], dict[str, Any]]:
    """Runs the node stack's server with a case's change until its first run has ended, and gives what there is to see."""

    def run(name: str) -> dict[str, Any]:
        config = node_config(real_node.cluster.name, namespace)
        server = config["servers"][0]
        # What vLLM itself says, with nothing around it that would look first or end it with a code of its own.
        server["runtime"] = {"supervised": False}
        for field, value in CASES[name]["change"].items():
            server[field] = {**server[field], **value} if isinstance(value, dict) else value
        real_node.apply(*(item for item in real_node.render(config) if item["kind"] in ("ConfigMap", "Deployment")), namespace=namespace)

        def over() -> bool:
            found = real_node.get("pods", "-n", namespace)["items"]
            states = [status.get("lastState") for pod in found for status in pod["status"].get("containerStatuses", ())]
            return any(states)

        real_node.until(over, f"the end of {name}", STARTUP_SECONDS)
        return capture.capture(real_node.cluster, namespace, real_node.pod(namespace)["metadata"]["name"])

    return run


@pytest.fixture
def unreadable(real_node: RealNode) -> Iterator[None]:
    """Beside the tiny model, a copy whose weights are for root only."""
    copy = Path(real_node.node.models, "unreadable")
    shutil.copytree(copy.with_name("dense"), copy, dirs_exist_ok=True)
    (copy / "model.safetensors").chmod(0o600)
    yield
    shutil.rmtree(copy)


@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize("name", LIVE)
def test_the_real_engine_fails_as_it_was_kept(name: str, fail: Callable[[str], dict[str, Any]]) -> None:
    seen = fail(name)
    if KEEP:
        capture.save(seen, FAILURES / name)
    check(CASES[name], seen)
