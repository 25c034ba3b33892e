"""A rehearsal makes stand-ins for exactly what a stack names and does not make, and leaves the stack's own file alone."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import rehearsal
from tools.cluster import standins
from tools.cluster.standins import Expected
from tools.common import ROOT

POD = {
    "serviceAccountName": "puller",
    "priorityClassName": "serving",
    "runtimeClassName": "nvidia",
    "imagePullSecrets": [{"name": "registry"}],
    "volumes": [
        {"name": "a", "secret": {"secretName": "keys"}},
        {"name": "b", "configMap": {"name": "own"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "weights"}},
        {"name": "d", "secret": {"secretName": "perhaps", "optional": True}},
    ],
    "containers": [
        {
            "name": "vllm",
            "env": [
                {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
                {"name": "OTHER", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "other"}}},
                {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "absent", "key": "x", "optional": True}}},
            ],
        }
    ],
}


def made(kind: str, name: str, spec: dict[str, Any] | None = None, version: str = "v1", namespace: str = "team") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec or {}}


def deployment() -> dict[str, Any]:
    return made("Deployment", "chat", {"template": {"spec": POD}}, "apps/v1")


def test_what_a_pod_names_is_expected_once_with_all_its_keys_and_what_is_optional_is_not() -> None:
    found = standins.expected([deployment(), deployment()])
    assert found[0] == Expected("Namespace", "team")
    assert sorted(map(str, found[1:])) == [
        "ConfigMap team/own",
        "PersistentVolumeClaim team/weights",
        "PriorityClass serving",
        "RuntimeClass nvidia",
        "Secret team/hub",
        "Secret team/keys",
        "Secret team/registry",
        "ServiceAccount team/puller",
    ]
    (hub,) = [each for each in found if each.name == "hub"]
    assert hub.keys == {"token", "other"}


def test_what_the_stack_makes_itself_needs_no_stand_in() -> None:
    own = [made("ConfigMap", "own"), made("PersistentVolumeClaim", "weights"), made("Namespace", "team", namespace="")]
    names = {str(each) for each in standins.expected([deployment(), *own])}
    assert not names & {"ConfigMap team/own", "PersistentVolumeClaim team/weights", "Namespace team"}
    assert "Secret team/hub" in names


def test_a_route_expects_its_gateway_in_the_gateways_namespace_with_its_listener() -> None:
    parents = [{"name": "inference", "namespace": "gateways", "sectionName": "https"}]
    route = made("HTTPRoute", "chat", {"parentRefs": parents}, "gateway.networking.k8s.io/v1")
    found = standins.expected([route])
    assert Expected("Gateway", "inference", "gateways", frozenset({"https"})) in found
    bodies = [standins.manifest(each, "prod", frozenset({"team"})) for each in found]
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in bodies if each["kind"] == "Namespace"}
    assert labels["team"] == {standins.MARK: "true", standins.STACK: "prod"}
    assert labels["gateways"] == {standins.MARK: "true"}
    (gateway,) = [each for each in bodies if each["kind"] == "Gateway"]
    assert [each["name"] for each in gateway["spec"]["listeners"]] == ["https"]


def test_the_secret_of_an_ingress_has_the_keys_that_the_api_server_demands_of_its_type() -> None:
    ingress = made("Ingress", "code", {"tls": [{"hosts": ["a.example"], "secretName": "tls"}]}, "networking.k8s.io/v1")
    (secret,) = [each for each in standins.expected([ingress]) if each.kind == "Secret"]
    body = standins.manifest(secret, "prod", frozenset())
    assert body["type"] == "kubernetes.io/tls"
    assert set(body["stringData"]) == {"tls.crt", "tls.key"}


def test_a_kind_that_the_api_server_does_not_serve_gets_a_definition_and_one_that_it_serves_does_not() -> None:
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "spot"}, "spec": {}}
    monitor = made("PodMonitor", "chat", version="monitoring.coreos.com/v1")
    found = standins.foreign_kinds([deployment(), pool, pool, monitor], ["v1", "apps/v1"])
    definitions = {each["metadata"]["name"]: each["spec"]["scope"] for each in map(standins.definition, found)}
    assert definitions == {"nodepools.karpenter.sh": "Cluster", "podmonitors.monitoring.coreos.com": "Namespaced"}


def test_the_prod_stack_expects_its_namespaces_its_gateway_and_the_secret_of_its_ingress() -> None:
    found = {str(each) for each in standins.expected(rehearsal.rendered("prod"))}
    assert found >= {"Namespace inference", "Namespace gateways", "Gateway gateways/inference", "Secret inference/models-tls"}
    assert "PersistentVolumeClaim inference/weights" not in found


def test_only_the_target_and_what_is_encrypted_are_replaced_in_the_copy_and_every_replacement_is_said() -> None:
    cluster = {"target": {"context": "prod", "uid": "1"}, "namespace": "inference"}
    config = {
        "interlock:cluster": cluster,
        "interlock:kubeconfig": {"secure": "v1:x"},
        "other:key": {"secure": "v1:y"},
        "other:plain": "as it is",
    }
    original = {"secretsprovider": "kms", "encryptedkey": "k", "config": config}
    before = copy.deepcopy(original)
    settings, said = rehearsal.local_settings(original, "dev")
    assert settings == {
        "config": {
            "interlock:cluster": {"target": {"local": "dev"}, "namespace": "inference"},
            "other:key": "stand-in",
            "other:plain": "as it is",
        }
    }
    assert said == [
        "context prod -> local control plane dev",
        "interlock:kubeconfig -> that of dev",
        "encrypted value other:key",
    ]
    assert original == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("config: {interlock:cluster: {target: {context: prod}}}", {"context": "prod"}),
        ("config: {interlock:cluster: {target: {local: dev}}}", {"local": "dev"}),
        ("config: {interlock:cluster: 7}", {}),
        ("[1, 2]", {}),
        ("a: [", {}),
        (None, {}),
    ],
)
def test_the_target_is_read_from_any_file_without_a_traceback(
    text: str | None, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "ROOT", tmp_path)
    if text is not None:
        (tmp_path / "Pulumi.x.yaml").write_text(text)
    assert rehearsal.target("x") == expected


def test_stacks_of_this_repository_that_make_up_deploys_as_they_are_name_its_control_plane() -> None:
    for stack in ("dev", "node"):
        assert rehearsal.target(stack) == {"local": "dev"}
    assert yaml.safe_load((ROOT / "Pulumi.prod.yaml").read_text())["config"]["interlock:cluster"]["target"] == rehearsal.target("prod")
