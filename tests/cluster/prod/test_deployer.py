"""What the deployer role may not do, asked of the API server and tried."""

import subprocess
from typing import Any

import pytest

from tools.cluster.testing import LocalCluster

WHO = "system:serviceaccount:inference:interlock-deployer"


def may(cluster: LocalCluster, verb: str, resource: str, *more: str) -> bool:
    command = ["kubectl", "auth", "can-i", verb, resource, f"--as={WHO}", *more]
    done = subprocess.run(command, env=cluster.environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() == "yes"


FORBIDDEN = [
    ("get", "secrets", "-n=inference"),
    ("create", "secrets", "-n=inference"),
    ("create", "pods", "-n=inference"),
    ("create", "pods/exec", "-n=inference"),
    ("create", "rolebindings", "-n=inference"),
    ("create", "deployments.apps", "-n=default"),
    ("delete", "deployments.apps", "-n=kube-system"),
    ("list", "configmaps", "-n=gateways"),
    ("patch", "gateways.gateway.networking.k8s.io/inference", "-n=gateways"),
    ("delete", "namespaces/inference"),
    ("create", "namespaces"),
    ("list", "namespaces"),
    ("create", "clusterrolebindings"),
    ("create", "customresourcedefinitions"),
    ("delete", "nodes/h100-0"),
    ("impersonate", "users"),
]


@pytest.mark.parametrize("question", FORBIDDEN, ids=[" ".join(each) for each in FORBIDDEN])
def test_the_role_may_not(question: tuple[str, ...], prod: Any, prod_cluster: LocalCluster) -> None:
    assert not may(prod_cluster, *question)


def test_the_role_may_what_its_stack_needs(prod: Any, prod_cluster: LocalCluster) -> None:
    assert may(prod_cluster, "create", "deployments.apps", "-n=inference")
    assert may(prod_cluster, "get", "namespaces/kube-system")


def test_a_stack_that_reaches_beyond_its_namespace_is_denied_and_leaves_nothing(prod: Any, prod_cluster: LocalCluster) -> None:
    """The real denial: the same account, another namespace."""
    path = prod.config["target"]["kubeconfig"]
    command = ["kubectl", f"--kubeconfig={path}", "-n=default", "create", "configmap", "foreign"]
    done = subprocess.run(command, env=prod_cluster.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "forbidden" in done.stderr.lower()
    names = [each["metadata"]["name"] for each in prod_cluster.get("configmaps", "-n", "default")["items"]]
    assert "foreign" not in names
