"""The platform stack by Pulumi: GPU layer, pools, priorities, tenants; what it changes on nodes, and what an installed layer must have."""

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.config import load
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.stacks.live import check_gpu_layer
from interlock.stacks.settings import Settings
from tools.cluster.extensions import definitions
from tools.cluster.testing import LocalCluster, Outcome, PulumiProject, gpu_node

ROOT = Path(__file__).resolve().parents[2]
SHARED = (gpu_node("h100-0"), gpu_node("h100-1"))
KARPENTER = {
    "name": "karpenter",
    "module": "sigs.k8s.io/karpenter",
    "version": "v1.14.1",
    "folder": "pkg/apis/crds",
    "files": ["karpenter.sh_nodepools.yaml"],
}


class Stack:
    """A stack whose config can be edited."""

    def __init__(self, project: PulumiProject, config: dict[str, Any]) -> None:
        self.project, self.config = project, config
        self.write()

    def write(self, **changes: Any) -> None:
        self.config |= changes
        path = self.project.folder / f"Pulumi.{self.project.stack}.yaml"
        data = yaml.safe_load(path.read_text()) if path.exists() else {}
        path.write_text(yaml.safe_dump({**(data or {}), "config": {**(data or {}).get("config", {}), "interlock:cluster": self.config}}))


MakeStack = Callable[..., Stack]


@pytest.fixture(scope="module")
def make_stack(cluster: LocalCluster, pulumi_project: Callable[..., PulumiProject]) -> MakeStack:
    files = {name: (ROOT / name).read_text() for name in ("Pulumi.yaml", "__main__.py")}

    def make(config: dict[str, Any], stack: str) -> Stack:
        return Stack(pulumi_project(files, stack), {"target": {"local": cluster.cluster.name}, **config})

    return make


@pytest.fixture(scope="module")
def karpenter(cluster: LocalCluster) -> Iterator[None]:
    files = [str(path) for path in definitions(KARPENTER)]
    cluster.kubectl("apply", "--server-side", *(f"--filename={file}" for file in files))
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *(f"--filename={file}" for file in files))
    yield
    cluster.kubectl("delete", *(f"--filename={file}" for file in files))


@pytest.fixture(scope="module")
def nodes(cluster: LocalCluster) -> Iterator[None]:
    """Nodes that somebody made, without any label of ours."""
    made = [gpu_node("h100-a"), gpu_node("h100-b"), gpu_node("l4-a", "NVIDIA-L4", 4), gpu_node("l4-b", "NVIDIA-L4", 4)]
    mig = gpu_node("a100-a", "NVIDIA-A100-SXM4-80GB", 8, 81920)
    cluster.set_nodes(*SHARED, *made, mig)
    yield
    cluster.set_nodes(*SHARED)


def clean(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.text
    assert "Traceback" not in outcome.text
    return outcome


def changed(outcome: Outcome) -> dict[str, int]:
    return {operation: count for operation, count in outcome.changes.items() if operation != "same" and count}


def example() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "Pulumi.platform.yaml").read_text())["config"]["interlock:cluster"]
    del found["target"]
    return found


def labels(cluster: LocalCluster, node: str) -> dict[str, str]:
    found: dict[str, str] = cluster.get("node", node)["metadata"]["labels"]
    return {key: value for key, value in found.items() if key.startswith("interlock.dev/") or key.endswith(".config")}


def plugin(cluster: LocalCluster, stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("daemonset", f"{stack.project.stack}-device-plugin", "-n", "gpu-system")
    return found


@pytest.fixture(scope="module")
def platform(make_stack: MakeStack, cluster: LocalCluster, karpenter: None, nodes: None) -> Iterator[Stack]:
    """The example's platform stack, deployed; the last test that has it destroys it."""
    before = taints(cluster)
    stack = make_stack(example(), f"platform-{uuid.uuid4().hex[:6]}")
    clean(stack.project.up())
    assert taints(cluster) == before
    yield stack
    if stack.project.resources():
        stack.project.destroy()


def taints(cluster: LocalCluster) -> list[Any]:
    """Those of nodes that somebody made."""
    return [cluster.get("node", name)["spec"]["taints"] for name in ("h100-a", "l4-a")]


def test_the_platform_stack_labels_nodes_and_brings_the_plugin_the_pools_and_the_quotas(platform: Stack, cluster: LocalCluster) -> None:
    name = platform.project.stack
    assert labels(cluster, "l4-a") == {
        "interlock.dev/pool": "sliced",
        "interlock.dev/simulated": "true",
        "interlock.dev/stack": name,
        "nvidia.com/device-plugin.config": "time-slicing-4",
    }
    assert labels(cluster, "a100-a")["nvidia.com/mig.config"] == "1g.10gb-7"
    assert plugin(cluster, platform)["status"]["numberReady"] == 5
    assert cluster.get("nodepool", f"{name}-spot")["spec"]["limits"] == {"nvidia.com/gpu": "32"}
    assert cluster.get("resourcequota", "assistants", "-n", "assistants")["status"]["hard"]["requests.nvidia.com/gpu"] == "4"


def test_a_second_up_and_a_refresh_of_the_platform_change_nothing(platform: Stack) -> None:
    assert changed(clean(platform.project.up())) == {}
    assert changed(clean(platform.project.refresh())) == {}


def test_a_changed_sharing_restarts_the_plugin_and_is_reported_while_the_node_is_in_use(
    platform: Stack, cluster: LocalCluster, namespace: str
) -> None:
    before = plugin(cluster, platform)["spec"]["template"]
    container = {"name": "main", "image": "example.org/x:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"containers": [container], "nodeName": "l4-a", "tolerations": [{"operator": "Exists"}]}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "busy"}, "spec": spec}, namespace=namespace)
    pools = [
        {**pool, "share": {"kind": "time-slicing", "replicas": 8}} if pool["name"] == "sliced" else pool
        for pool in platform.config["pools"]
    ]
    platform.write(pools=pools)
    told = clean(platform.project.up())
    (warning,) = {text for text in told.diagnostics if "GPU-108" in text}
    assert "l4-a" in warning
    assert "l4-b" not in warning
    assert f"{namespace}/busy" in warning
    assert plugin(cluster, platform)["spec"]["template"]["metadata"]["annotations"] != before["metadata"]["annotations"]
    assert labels(cluster, "l4-b")["nvidia.com/device-plugin.config"] == "time-slicing-8"


def test_a_destroyed_platform_leaves_nodes_as_they_were_and_nothing_cluster_wide(platform: Stack, cluster: LocalCluster) -> None:
    clean(platform.project.destroy())
    assert labels(cluster, "l4-a") == {"interlock.dev/simulated": "true"}
    selector = f"interlock.dev/stack={platform.project.stack}"
    assert json.loads(cluster.kubectl("get", "priorityclass,nodepool,clusterrole", "-l", selector, "-o", "json"))["items"] == []


def test_an_installed_layer_is_looked_at_and_a_missing_class_stops_the_preview(
    make_stack: MakeStack, cluster: LocalCluster, namespace: str
) -> None:
    pool = {"name": "l4", "gpu": "l4", "nodes": 1, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 4}}
    layer = {"kind": "installed", "namespace": namespace, "config_map": "plugin"}
    config = {"scope": "platform", "namespace": "platform", "pools": [pool], "platform": {"gpu_layer": layer}}

    def have(*keys: str) -> None:
        data = dict.fromkeys(keys, "version: v1")
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plugin"}, "data": data}, namespace=namespace)

    have("default")
    refused = make_stack(config, "installed").project.preview()
    assert refused.code != 0
    assert "pool l4 needs the plugin config 'time-slicing-4'" in refused.text
    assert "it has default" in refused.text
    have("default", "time-slicing-4")
    loaded = load(config | {"target": {"local": "dev"}})
    check_gpu_layer(Settings("installed", "Pulumi.installed.yaml", loaded, str(cluster.kubeconfig), cluster.context))


KINDS: dict[str, dict[str, Any]] = {
    "claim": {"kind": "claim", "storage_class": "shared"},
    "path": {"kind": "host-path", "path": "/data", "nodes": ["h100-0"]},
    "local": {"kind": "local", "path": "/mnt/nvme", "nodes": ["h100-0", "h100-1"]},
    "nfs": {"kind": "nfs", "server": "10.0.0.9", "path": "/export", "mount_options": ["nfsvers=4.1"]},
    "juice": {"kind": "juicefs", "secret": "juicefs"},
    "bucket": {"kind": "object-store", "driver": "s3.csi.aws.com", "handle": "models", "attributes": {"bucketName": "models"}},
    "sync": {"kind": "node-sync", "path": "/mnt/fast", "source": "nfs"},
    "oci": {"kind": "image", "image": "registry.example/weights@sha256:" + "0" * 64},
}
PREFETCH = [{"model": "Qwen/Qwen2.5-0.5B-Instruct", "revision": "a" * 40, "token_secret": "hub"}]


def everything(namespace: str) -> list[dict[str, Any]]:
    """Objects of every family and every kind of store and pool."""
    config = example() | {"target": {"local": "dev"}, "scope": "all", "namespace": namespace}
    config["pools"] = [*config["pools"], {"name": "dra", "gpu": "h100", "nodes": 1, "gpus_per_node": 8, "allocation": "claim"}]
    config["pools"].append({"name": "mps", "gpu": "l40s", "nodes": 1, "gpus_per_node": 4, "share": {"kind": "mps", "replicas": 2}})
    filled = ("claim", "path", "local", "nfs")
    config["stores"] = [{"name": name, **fields} | ({"prefetch": PREFETCH} if name in filled else {}) for name, fields in KINDS.items()]
    base = {"model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}, "pool": "h100", "compile_cache": "claim", "priority_class": "serving"}
    config["servers"] = [{"name": f"on-{name}", "weights": name, **base} for name in KINDS]
    config["servers"] += [{"name": f"in-{pool}", **base, "pool": pool} for pool in ("sliced", "mig", "dra", "mps", "spot")]
    made = load(config)
    return render(made, plan(made, "every"))


def test_every_object_passes_strict_validation_and_the_servers_dry_run(cluster: LocalCluster, karpenter: None, namespace: str) -> None:
    objects = everything(namespace)
    spaces = [each for each in objects if each["kind"] == "Namespace"]
    cluster.apply(*[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each["metadata"]["name"]}} for each in spaces])
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": [each for each in objects if each["kind"] != "Node"]})
    flags = ("--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts", "-f", "-")
    printed = cluster.kubectl("apply", *flags, given=given)
    assert printed.count("serverside-applied (server dry run)") == len([each for each in objects if each["kind"] != "Node"])
    assert {each["kind"] for each in objects} >= {
        "DaemonSet", "RuntimeClass", "NodePool", "PriorityClass", "ResourceQuota", "LimitRange", "ResourceClaimTemplate", "Job",
        "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Deployment", "ConfigMap", "Node",
    }  # fmt: skip
    others = [each["metadata"]["name"] for each in spaces if each["metadata"]["name"] != namespace]
    cluster.kubectl("delete", "namespace", *others, "--wait=false")
