"""The cluster tier's fixtures: one local control plane for the whole session, and Pulumi projects on it.

- ``cluster``: the running control plane (a ``LocalCluster``), started once per test session and removed at its end.
- ``namespace``: a namespace of the test's own; it is deleted afterwards without waiting.
- ``pulumi_project``: makes a ``PulumiProject`` from a folder or from files, with a file backend of its own.

Everything in this folder gets the marker ``cluster`` and is skipped with a reason when the toolchain is not built; `make test` builds it.
"""

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from tools import build, toolchain_families
from tools.cluster import lifecycle
from tools.cluster.testing import LocalCluster, PulumiProject, gpu_node

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def toolchain() -> Path:
    """The folder of the toolchain's programs; skips the test when they are not all built."""
    wanted = toolchain_families.select([], ["test"])
    missing = [decision.family.name for decision in build.decide(wanted) if decision.must_build]
    if missing:
        pytest.skip(f"not built: {', '.join(missing)} (python -m tools.build --for test)")
    return build.ensure(wanted)


@pytest.fixture(scope="session")
def cluster(toolchain: Path) -> Iterator[LocalCluster]:
    """The control plane that all cluster tests share, with two simulated nodes of eight H100 each (h100-0, h100-1).

    Real: etcd, API server, controllers, scheduler, RBAC. Simulated: nodes, what runs on them, volumes, load balancers, ingresses (see
    tools/cluster/objects/stages.yaml; a pod's annotations set delays). A test works in its own ``namespace`` and puts cluster-wide
    objects away again. ``kubectl logs`` and ``exec`` do not work on simulated nodes.
    """
    name = f"test-{os.getpid()}"
    try:
        started, _ = lifecycle.up(name, toolchain)
        local = LocalCluster(started, toolchain)
        local.set_nodes(gpu_node("h100-0"), gpu_node("h100-1"))
        yield local
    finally:
        lifecycle.down(name)


@pytest.fixture
def namespace(cluster: LocalCluster) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


MakeProject = Callable[..., PulumiProject]


@pytest.fixture(scope="module")
def pulumi_project(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> MakeProject:
    """A function ``(source, stack="dev")`` that returns a ``PulumiProject`` with its stack made.

    ``source`` is a folder that is copied, or a mapping of file names to text. Its Pulumi.yaml is set to run in the tests' own Python.
    What a stack still holds at the end goes with the control plane; a file whose stacks others would meet takes it away itself.
    """

    def make(source: Path | Mapping[str, str], stack: str = "dev") -> PulumiProject:
        folder = tmp_path_factory.mktemp("project") / "copy"
        if isinstance(source, Path):
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".venv", "__pycache__", ".git", ".*_cache"))
        else:
            folder.mkdir()
            for name, text in source.items():
                (folder / name).write_text(text)
        settings = yaml.safe_load((folder / "Pulumi.yaml").read_text())
        settings["runtime"] = {"name": "python", "options": {"toolchain": "uv", "virtualenv": sys.prefix}}
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump(settings))
        backend = tmp_path_factory.mktemp("backend")
        project = PulumiProject(folder, stack, cluster.environment | {"PULUMI_BACKEND_URL": f"file://{backend}"})
        project.checked("stack", "init", stack)
        return project

    return make
