"""The engine tier's fixtures: one real node for the whole session, and on it the program's own stack with the real vLLM.

- ``real_node``: a local cluster of its own with one real node (time slices of one simulated card); removed at the session's end.
- ``deployed``: Pulumi.node.yaml with two replicas, deployed by ``pulumi up`` through the program, both Ready.
- ``namespace``: a namespace of the test's own for plain pods.
- ``starts``: every start that tests make, with what was planned for it.

Tests that need the node are skipped with the reason when this machine cannot carry one or nothing is built; `make test` builds it.
"""

import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.manifests.simulated import simulated_nodes
from tools import build, toolchain_families
from tools.cluster import lifecycle as clusters
from tools.cluster.testing import Outcome, PulumiProject
from tools.common import ROOT
from tools.node import lifecycle, prepare
from tools.node.stack import STACK, described_node
from tools.node.testing import STARTUP_SECONDS, Deployed, RealNode, node_config, replicated
from tools.starts.judged import Starts

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def starts() -> Iterator[Starts]:
    """Every start of a real engine of this session; at the end the plan's times are judged by all of them."""
    kept = Starts()
    yield kept
    assert not kept.problem(), kept.problem()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.engine)
            item.add_marker(pytest.mark.xdist_group("engine"))
            item.add_marker(pytest.mark.timeout(3 * STARTUP_SECONDS))


@pytest.fixture(scope="session")
def real_node() -> Iterator[RealNode]:
    """One real node for all tests of the session."""
    reason = prepare.unready()
    if reason:
        pytest.skip(reason)
    tools = build.ensure(toolchain_families.select([], prepare.SETS))
    name = f"engine-{os.getpid()}"
    try:
        cluster, _ = clusters.up(name, tools)
        described = simulated_nodes(load(node_config(name, "unused")).pools)[0]
        node, _ = lifecycle.up(cluster, **described_node(described))
        yield RealNode(cluster, tools, node)
    finally:
        clusters.down(name)


@pytest.fixture
def namespace(real_node: RealNode) -> Iterator[str]:
    """A namespace of the test's own; its pods are gone before the next test needs their slices."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    real_node.kubectl("create", "namespace", name)
    yield name
    real_node.kubectl("delete", "pods,deployments", "--all", "-n", name, "--grace-period=1", "--timeout=60s")
    real_node.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def deployed(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack, deployed once; `pulumi up` returns when its two engines are Ready. A destroy leaves nothing of it."""
    folder, backend = tmp_path_factory.mktemp("stack"), tmp_path_factory.mktemp("backend")
    shutil.copy(ROOT / "__main__.py", folder)
    settings = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    settings["runtime"] = {"name": "python", "options": {"toolchain": "uv", "virtualenv": sys.prefix}}
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(settings))
    project = PulumiProject(folder, STACK, real_node.environment | {"PULUMI_BACKEND_URL": f"file://{backend}"})
    project.checked("stack", "init", STACK)
    made = Deployed(project, replicated(real_node.cluster.name, "node-stack"), Outcome(0, ""))
    made.up()
    yield made
    assert project.destroy().code == 0
    assert made.namespace not in {each["metadata"]["name"] for each in real_node.get("namespaces")["items"]}
