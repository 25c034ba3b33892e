"""Whose namespace it is, and whether the state of a production stack is really encrypted: asked before the first resource."""

from pathlib import Path
from typing import Any

import pulumi
import pytest

from interlock.infra.config import ClusterConfig, load
from interlock.infra.errors import ConfigError
from interlock.infra.naming import label
from interlock.stacks.api import RefusedError
from interlock.stacks.settings import Settings, check_passphrase
from interlock.stacks.target import check_namespace


def config(**changes: Any) -> ClusterConfig:
    pool = {"name": "l4", "gpu": "l4", "nodes": 1, "gpus_per_node": 1}
    return load({"target": {"context": "c"}, "namespace": "team-a", "pools": [pool], **changes})


class Api:
    """A cluster with one namespace, or none, and Services of servers in it."""

    def __init__(self, labels: dict[str, str] | None, servers_of: str = "", status: int = 404) -> None:
        self.labels, self.servers_of, self.status = labels, servers_of, status

    server = "https://cluster"

    def get(self, path: str, **query: str) -> dict[str, Any]:
        if path.endswith("/services"):
            own = query["labelSelector"].rpartition("!=")[2]
            other = self.servers_of and self.servers_of != own
            return {"items": [{"metadata": {"labels": {label("stack"): self.servers_of}}}] if other else []}
        if self.labels is None:
            raise RefusedError(self.status, "Forbidden" if self.status == 403 else "Not Found")
        return {"metadata": {"labels": self.labels}}


def checked(api: Api, **changes: Any) -> None:
    check_namespace(api, Settings("prod", "Pulumi.prod.yaml", config(**changes), "kubeconfig", "c"))


ADMINISTRATORS = {"create_namespace": False}


@pytest.mark.parametrize(
    ("api", "changes"),
    [
        (Api(None), {}),
        (Api({label("stack"): "prod"}), {}),
        (Api({label("stack"): "prod"}), ADMINISTRATORS),
        (Api({label("stack"): "platform", label("tenant"): "team-a"}), ADMINISTRATORS),
        (Api({label("stack"): "platform", label("tenant"): "team-a"}, servers_of="prod"), ADMINISTRATORS),
    ],
    ids=["free", "own", "made by an administrator", "a tenant's", "a tenant's with own servers"],
)
def test_a_namespace_is_usable(api: Api, changes: dict[str, Any]) -> None:
    checked(api, **changes)


@pytest.mark.parametrize(
    ("api", "changes", "message"),
    [
        (Api({}), {}, "exists and belongs to no stack"),
        (Api({label("stack"): "other"}), {}, "belongs to stack 'other'"),
        (Api({label("stack"): "other"}), ADMINISTRATORS, "belongs to stack 'other'"),
        (Api({label("stack"): "platform", label("tenant"): "team-a"}), {}, "belongs to stack 'platform'"),
        (Api({label("stack"): "platform", label("tenant"): "team-a"}, servers_of="other"), ADMINISTRATORS, "belongs to stack 'other'"),
        (Api(None), ADMINISTRATORS, "interlock render --stack prod --deployer"),
        (Api(None, status=403), {}, "cannot be read: 403 Forbidden"),
    ],
    ids=["nobody's", "another's", "another administrator's", "a tenant's that we would make", "taken tenant's", "missing", "unreadable"],
)
def test_a_namespace_is_refused_with_its_owner_and_the_way_out(api: Api, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        checked(api, **changes)
    assert message in str(refused.value)
    assert str(refused.value).startswith("namespace: 'team-a' ")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pulumi, "get_root_directory", lambda: str(tmp_path))
    for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_production_refuses_an_empty_passphrase(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")
    with pytest.raises(ConfigError, match="the passphrase that encrypts the state is empty"):
        check_passphrase(config(production=True), "Pulumi.prod.yaml")


def test_production_refuses_a_passphrase_file_with_nothing_in_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "phrase").write_text(" \n", "utf-8")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE_FILE", str(root / "phrase"))
    with pytest.raises(ConfigError, match="passphrase"):
        check_passphrase(config(production=True), "Pulumi.prod.yaml")


def test_a_passphrase_a_key_service_or_no_production_is_let_pass(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "a phrase")
    check_passphrase(config(production=True), "Pulumi.prod.yaml")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")
    check_passphrase(config(), "Pulumi.dev.yaml")
    (root / "Pulumi.prod.yaml").write_text("secretsprovider: awskms://alias/interlock\nconfig: {}\n", "utf-8")
    check_passphrase(config(production=True), "Pulumi.prod.yaml")
