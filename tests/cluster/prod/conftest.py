"""A second control plane with the nodes of the prod stack, a gateway, and the deployer role; stacks on it are deployed as that role.

- ``prod_cluster``: the control plane (a ``LocalCluster``), for all tests of this folder.
- ``make_stack``: makes an Interlock stack on it from a config (``StackOn``), all stacks in one backend.
- ``make_project``: makes any Pulumi project on it, in the same backend.
- ``deployer``: gives a stack the deployer role of its own config, as an administrator would.
"""

import base64
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.manifests.deployer import NAME, deployer_objects
from interlock.infra.manifests.simulated import simulated_nodes
from interlock.infra.plan.plan import plan
from tools.cluster import extensions, lifecycle
from tools.cluster.testing import LocalCluster, PulumiProject

ROOT = Path(__file__).resolve().parents[3]
GATEWAYS = "gateways"
# Room beside the prod stack, which fills its own pools.
SPARE = {"name": "spare", "gpu": "l4", "nodes": 6, "gpus_per_node": 1, "cpu": "16", "memory": "64Gi"}
GATEWAY = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "Gateway",
    "metadata": {"name": "inference", "namespace": GATEWAYS},
    "spec": {
        "gatewayClassName": "simulated",
        "listeners": [
            {"name": name, "protocol": "HTTP", "port": port, "allowedRoutes": {"namespaces": {"from": "All"}}}
            for name, port in (("http", 80), ("https", 443))
        ],
    },
}


def cluster_config(stack: str) -> dict[str, Any]:
    """The config of a stack of this repository."""
    found: dict[str, Any] = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text("utf-8"))["config"]["interlock:cluster"]
    return found


@pytest.fixture
def prod_config() -> dict[str, Any]:
    """The prod stack's config as it stands in this repository."""
    return cluster_config("prod")


@pytest.fixture
def spare() -> dict[str, Any]:
    """A pool of six nodes with one L4 each that the prod stack does not use."""
    return dict(SPARE)


@dataclass
class StackOn:
    """An Interlock stack whose config can be edited."""

    project: PulumiProject
    config: dict[str, Any]

    def write(self) -> None:
        path = self.project.folder / f"Pulumi.{self.project.stack}.yaml"
        data = yaml.safe_load(path.read_text("utf-8")) if path.exists() else {}
        data["config"] = {**data.get("config", {}), "interlock:cluster": self.config}
        path.write_text(yaml.safe_dump(data), "utf-8")

    def server(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in self.config["servers"] if each["name"] == name)
        return found


@pytest.fixture(scope="session")
def prod_cluster(toolchain: Path) -> Iterator[LocalCluster]:
    """Real: etcd, API server, controllers, scheduler, RBAC, definitions of kinds of others. Simulated: nodes and what runs on them,
    volumes, the controllers of gateways, of KEDA and of an Ingress class."""
    if shutil.which("go") is None:
        pytest.skip("no Go on PATH: the definitions of Gateway API, KEDA and the Prometheus operator come from their Go modules")
    name = f"prod-{os.getpid()}"
    try:
        started, _ = lifecycle.up(name, toolchain)
        local = LocalCluster(started, toolchain)
        extensions.install(started, toolchain)
        config = load({**cluster_config("prod"), "pools": [*cluster_config("prod")["pools"], SPARE]})
        local.set_nodes(*simulated_nodes(config.pools))
        local.kubectl("create", "namespace", GATEWAYS)
        local.apply(GATEWAY, namespace=GATEWAYS)
        yield local
    finally:
        lifecycle.down(name)


MakeProject = Callable[..., PulumiProject]


@pytest.fixture(scope="session")
def make_project(prod_cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> MakeProject:
    """A function ``(source, stack, environment={})``: ``source`` is a folder that is copied, or a mapping of file names to text."""
    backend = tmp_path_factory.mktemp("backend")

    def make(source: Path | Mapping[str, str], stack: str, environment: Mapping[str, str] | None = None) -> PulumiProject:
        folder = tmp_path_factory.mktemp("project") / "copy"
        if isinstance(source, Path):
            shutil.copytree(source, folder)
        else:
            folder.mkdir()
            for name, text in source.items():
                (folder / name).write_text(text, "utf-8")
        settings = yaml.safe_load((folder / "Pulumi.yaml").read_text("utf-8"))
        if settings["runtime"] != "yaml":
            settings["runtime"] = {"name": "python", "options": {"toolchain": "uv", "virtualenv": sys.prefix}}
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump(settings), "utf-8")
        own = {"PULUMI_BACKEND_URL": f"file://{backend}", "PULUMI_CONFIG_PASSPHRASE": "a passphrase"}
        project = PulumiProject(folder, stack, prod_cluster.environment | own | dict(environment or {}))
        project.checked("stack", "init", stack)
        return project

    return make


MakeStack = Callable[..., StackOn]


@pytest.fixture(scope="session")
def make_stack(prod_cluster: LocalCluster, make_project: MakeProject) -> MakeStack:
    """A function ``(config, stack)``: a stack of this program on the cluster, as administrator."""

    def make(config: Mapping[str, Any], stack: str) -> StackOn:
        files = {name: (ROOT / name).read_text("utf-8") for name in ("Pulumi.yaml", "__main__.py")}
        target = {"target": {"local": prod_cluster.cluster.name}}
        made = StackOn(make_project(files, stack), json.loads(json.dumps({**config, **target})))
        made.write()
        return made

    return make


Deployer = Callable[[StackOn], StackOn]


@pytest.fixture(scope="session")
def deployer(prod_cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Deployer:
    """A function that applies the deployer role of a stack as administrator, and makes the stack deploy as its service account."""

    def give(stack: StackOn) -> StackOn:
        config = load(stack.config)
        prod_cluster.apply(*deployer_objects(config, plan(config, stack.project.stack)), namespace=config.namespace)
        token = prod_cluster.kubectl("create", "token", NAME, "-n", config.namespace, "--duration=6h").strip()
        path = tmp_path_factory.mktemp("deployer") / "kubeconfig"
        path.write_text(json.dumps(kubeconfig(prod_cluster, token)), "utf-8")
        stack.config["target"] = {"context": "deployer", "kubeconfig": str(path)}
        stack.write()
        return stack

    return give


def kubeconfig(cluster: LocalCluster, token: str) -> dict[str, Any]:
    """A kubeconfig for a bearer of ``token``, context ``deployer``."""
    given = yaml.safe_load(cluster.kubeconfig.read_text("utf-8"))["clusters"][0]["cluster"]
    authority = given.get("certificate-authority-data") or base64.b64encode(Path(given["certificate-authority"]).read_bytes()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": given["server"], "certificate-authority-data": authority}}],
        "users": [{"name": "deployer", "user": {"token": token}}],
        "contexts": [{"name": "deployer", "context": {"cluster": "local", "user": "deployer"}}],
        "current-context": "deployer",
    }


@pytest.fixture(scope="session")
def prod(make_stack: MakeStack, deployer: Deployer) -> StackOn:
    """The prod stack as it stands in this repository, deployed once for all tests of this folder."""
    stack = deployer(make_stack(cluster_config("prod"), "prod"))
    outcome = stack.project.up()
    assert outcome.code == 0, outcome.text
    return stack
