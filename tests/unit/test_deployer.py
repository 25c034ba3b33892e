from pathlib import Path
from typing import Any

import pytest

from interlock.cli.stackfile import read_stack
from interlock.infra.catalog.kinds import kind_of_object
from interlock.infra.config import ClusterConfig, load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.common import manifest
from interlock.infra.manifests.deployer import deployer_objects, namespace_rules
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan

ROOT = Path(__file__).resolve().parents[2]
FILES = [*sorted(ROOT.glob("Pulumi.*.yaml")), *sorted((ROOT / "examples").glob("*.yaml"))]


def made(config: ClusterConfig, stack: str = "prod") -> list[dict[str, Any]]:
    return deployer_objects(config, plan(config, stack))


@pytest.fixture
def prod() -> ClusterConfig:
    return read_stack("prod", None, ROOT).config


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_every_kind_that_a_stack_makes_is_known_to_the_role(file: Path) -> None:
    read = read_stack(None, file)
    objects = render(read.config, plan(read.config, "any"))
    assert all(kind_of_object(each).made for each in objects)


def test_every_namespaced_kind_of_a_serving_stack_may_be_managed(prod: ClusterConfig) -> None:
    inside = [kind_of_object(each) for each in render(prod, plan(prod, "prod")) if each["metadata"].get("namespace") == prod.namespace]
    (role,) = [each for each in made(prod) if each["kind"] == "Role"]
    managed = {
        (group, name) for rule in role["rules"] if "create" in rule["verbs"] for group in rule["apiGroups"] for name in rule["resources"]
    }
    assert {(kind.group, kind.plural) for kind in inside} <= managed


def test_a_namespaced_object_of_another_kind_brings_its_own_right(prod: ClusterConfig) -> None:
    monitor = manifest("traefik.io/v1alpha1", "IngressRoute", "chat", prod.namespace, {})
    (added,) = [rule for rule in namespace_rules([monitor], prod.namespace) if rule["apiGroups"] == ["traefik.io"]]
    assert added["resources"] == ["ingressroutes"]
    assert not [rule for rule in namespace_rules([], prod.namespace) if rule["apiGroups"] == ["traefik.io"]]


def test_the_role_names_no_secrets_and_no_wildcards(prod: ClusterConfig) -> None:
    for each in made(prod):
        for rule in each.get("rules", ()):
            assert "secrets" not in rule["resources"]
            assert "*" not in (*rule["resources"], *rule["verbs"], *rule["apiGroups"])


def test_outside_its_namespace_a_serving_stack_may_change_nothing(prod: ClusterConfig) -> None:
    serving = load({**prod.model_dump(mode="json"), "scope": "serving"})
    (role,) = [each for each in made(serving) if each["kind"] == "ClusterRole"]
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"], "resourceNames": ["inference", "kube-system"]}
    ]


def test_bindings_lead_from_the_account_to_the_roles(prod: ClusterConfig) -> None:
    objects = made(prod)
    roles = {(each["kind"], each["metadata"]["name"]) for each in objects if each["kind"].endswith("Role")}
    bindings = [each for each in objects if each["kind"].endswith("Binding")]
    assert {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in bindings} == roles
    (account,) = [each for each in objects if each["kind"] == "ServiceAccount"]
    for each in bindings:
        assert each["subjects"] == [{"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": prod.namespace}]


def test_two_stacks_have_roles_of_their_own(prod: ClusterConfig) -> None:
    names = [{each["metadata"]["name"] for each in made(prod, stack) if each["kind"] == "ClusterRole"} for stack in ("prod", "prod-eu")]
    assert names[0].isdisjoint(names[1])


def test_a_stack_that_makes_its_own_namespace_is_refused_with_the_way_out(prod: ClusterConfig) -> None:
    own = load({**prod.model_dump(mode="json"), "create_namespace": True})
    with pytest.raises(ConfigError, match="set create_namespace: false"):
        made(own)
