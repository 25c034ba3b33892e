"""The local control plane supplies what workloads wait for, and lets in only who proves who he is."""

import ssl
import urllib.error
import urllib.request
from typing import Any

import pytest

from tools.cluster.testing import LocalCluster, gpu_node

TOLERATES_GPU = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def pod_spec(**extra: Any) -> dict[str, Any]:
    return {"tolerations": TOLERATES_GPU, "containers": [{"name": "main", "image": "example.test/none:1"}]} | extra


def deployment(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(**spec)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def claim(name: str, mode: str, **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": [mode], "resources": {"requests": {"storage": "5Gi"}}} | spec
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": wanted}


def test_a_client_without_a_certificate_sees_the_servers_identity_but_no_secret(cluster: LocalCluster) -> None:
    context = ssl.create_default_context(cafile=str(cluster.cluster.folder / "pki" / "ca.crt"))
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{cluster.cluster.server}/api/v1/secrets", context=context)
    assert refused.value.code == 403


def test_the_servers_certificate_is_not_trusted_by_anybody_else(cluster: LocalCluster) -> None:
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(f"{cluster.cluster.server}/readyz", context=ssl.create_default_context())
    assert "insecure" not in cluster.kubeconfig.read_text()


def test_the_simulator_may_not_read_secrets(cluster: LocalCluster) -> None:
    kubeconfig = cluster.cluster.folder / "pki" / "kwok.kubeconfig"
    with pytest.raises(Exception, match='"interlock:simulator" cannot list resource "secrets"'):
        cluster.kubectl("get", "secrets", "-A", f"--kubeconfig={kubeconfig}")


def test_a_claim_of_the_default_class_is_bound_when_its_pod_is_scheduled(cluster: LocalCluster, namespace: str) -> None:
    cluster.apply(claim("model", "ReadWriteOnce"), namespace=namespace)
    assert cluster.get("pvc", "model", "-n", namespace)["status"]["phase"] == "Pending"
    volumes = [{"name": "model", "persistentVolumeClaim": {"claimName": "model"}}]
    cluster.apply(deployment("reader", 1, volumes=volumes), namespace=namespace)
    cluster.wait("pvc/model", "jsonpath={.status.phase}=Bound", namespace)
    cluster.wait("deployment/reader", "condition=Available", namespace)
    volume = cluster.get("pvc", "model", "-n", namespace)["spec"]["volumeName"]
    cluster.kubectl("delete", "deployment/reader", "pvc/model", "-n", namespace)
    cluster.wait(f"pv/{volume}", "delete")


def test_a_shared_claim_is_bound_at_once(cluster: LocalCluster, namespace: str) -> None:
    cluster.apply(claim("models", "ReadWriteMany", storageClassName="shared"), namespace=namespace)
    cluster.wait("pvc/models", "jsonpath={.status.phase}=Bound", namespace)


def test_a_load_balancer_and_an_ingress_get_addresses(cluster: LocalCluster, namespace: str) -> None:
    service: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"}}
    service["spec"] = {"type": "LoadBalancer", "selector": {"app": "x"}, "ports": [{"port": 80}]}
    ingress: dict[str, Any] = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "front"}}
    ingress["spec"] = {"defaultBackend": {"service": {"name": "front", "port": {"number": 80}}}}
    foreign = ingress | {"metadata": {"name": "foreign"}, "spec": ingress["spec"] | {"ingressClassName": "nobody"}}
    cluster.apply(service, ingress, foreign, namespace=namespace)
    for what in ("service/front", "ingress/front"):
        cluster.wait(what, "jsonpath={.status.loadBalancer.ingress[0].ip}", namespace)
    assert cluster.get("ingress", "foreign", "-n", namespace)["status"]["loadBalancer"] == {}


def test_a_job_completes(cluster: LocalCluster, namespace: str) -> None:
    template = {"spec": pod_spec(restartPolicy="Never", initContainers=[{"name": "first", "image": "example.test/none:1"}])}
    cluster.apply(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "prefetch"}, "spec": {"template": template}}, namespace=namespace
    )
    cluster.wait("job/prefetch", "condition=Complete", namespace)


def test_pods_of_two_nodes_never_share_an_address(cluster: LocalCluster, namespace: str) -> None:
    cluster.apply(deployment("many", 60), namespace=namespace)
    cluster.wait("deployment/many", "condition=Available", namespace)
    pods = cluster.get("pods", "-n", namespace)["items"]
    addresses = {pod["status"]["podIP"] for pod in pods}
    assert len(addresses) == len(pods) == 60
    assert {pod["spec"]["nodeName"] for pod in pods} == {"h100-0", "h100-1"}
    inside = {node["status"]["addresses"][0]["address"] for node in cluster.get("nodes")["items"]}
    assert len(inside) == 2
    assert not inside & addresses


def test_a_pod_that_is_told_to_wait_is_not_ready_until_then(cluster: LocalCluster, namespace: str) -> None:
    slow = deployment("slow", 1)
    slow["spec"]["template"]["metadata"]["annotations"] = {"simulation.interlock.dev/ready-after": "1h"}
    cluster.apply(slow, namespace=namespace)
    cluster.wait("deployment/slow", "jsonpath={.status.replicas}=1", namespace)  # only then is there a pod to wait for
    cluster.kubectl("wait", "pods", "-l", "app=slow", "--for=jsonpath={.status.phase}=Running", "-n", namespace, "--timeout=180s")
    conditions = {c["type"]: c["status"] for c in cluster.get("pods", "-n", namespace)["items"][0]["status"]["conditions"]}
    assert conditions["Ready"] == "False"


def test_the_scheduler_counts_the_gpus_of_a_simulated_node(cluster: LocalCluster, namespace: str) -> None:
    gpus = [{"name": "main", "image": "example.test/none:1", "resources": {"limits": {"nvidia.com/gpu": 8}}}]
    cluster.apply(deployment("whole", 3, containers=gpus), namespace=namespace)
    cluster.wait("deployment/whole", "jsonpath={.status.readyReplicas}=2", namespace)
    pending = cluster.get("pods", "-n", namespace, "--field-selector=status.phase=Pending")["items"]
    assert len(pending) == 1


def test_nodes_become_exactly_those_that_are_given_and_an_amount_can_change(cluster: LocalCluster) -> None:
    try:
        cluster.set_nodes(gpu_node("h100-0", gpus=4), gpu_node("l4-0", product="NVIDIA-L4", gpus=1))
        found = {node["metadata"]["name"]: node["status"]["allocatable"]["nvidia.com/gpu"] for node in cluster.get("nodes")["items"]}
        assert found == {"h100-0": "4", "l4-0": "1"}
    finally:
        cluster.set_nodes(gpu_node("h100-0"), gpu_node("h100-1"))


def test_a_pod_address_is_local_inside_and_has_no_route_outside(cluster: LocalCluster) -> None:
    if not cluster.cluster.namespace:
        pytest.skip("loopback: without root there is no network namespace")
    assert "local 10.244.0.0/16" in cluster.run("ip", "route", "show", "table", "local").stdout
    assert "10.244." not in "".join(cluster.run(*outside).stdout for outside in [("nsenter", "--net=/proc/1/ns/net", "ip", "route")])
