"""The only reader of the stack's configuration."""

import os
from dataclasses import dataclass
from pathlib import Path

import pulumi

from interlock.infra.config import ClusterConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.stacks.kubeconfig import context_of, kubeconfig_path
from interlock.stacks.model_files import read_cluster


@dataclass(frozen=True, slots=True)
class Settings:
    """What one run of the program is given."""

    stack: str
    source: str
    config: ClusterConfig
    kubeconfig: str
    """Path of the kubeconfig file, or its content when it came as a secret."""
    context: str


def read_settings() -> Settings:
    """The settings of this run. Raises ConfigError."""
    values = pulumi.Config("interlock")
    stack = pulumi.get_stack()
    source = f"Pulumi.{stack}.yaml"
    try:
        data = values.get_object("cluster")
    except pulumi.ConfigTypeError:
        data = values.get("cluster")
    if data is None:
        raise ConfigError([Problem("interlock:cluster", f"is missing: write it into {source} (docs/config.md shows every field)")])
    config = read_cluster(data, Path(pulumi.get_root_directory()), source)
    check_passphrase(config, source)
    kubeconfig = values.get("kubeconfig") or kubeconfig_path(config)
    return Settings(stack, source, config, kubeconfig, context_of(config))


def check_passphrase(config: ClusterConfig, source: str) -> None:
    """A production stack whose state is encrypted by a passphrase has one that is not empty. Raises ConfigError."""
    file = Path(pulumi.get_root_directory(), source)
    if not config.production or (file.exists() and "\nsecretsprovider:" in f"\n{file.read_text('utf-8')}"):
        return
    phrase, phrase_file = os.environ.get("PULUMI_CONFIG_PASSPHRASE"), os.environ.get("PULUMI_CONFIG_PASSPHRASE_FILE")
    if phrase is None and phrase_file and Path(phrase_file).exists():
        phrase = Path(phrase_file).read_text("utf-8").strip()
    if phrase == "":
        way = "set PULUMI_CONFIG_PASSPHRASE, or move the stack to a key service with `pulumi stack change-secrets-provider`"
        raise ConfigError(
            [Problem("production", f"the passphrase that encrypts the state is empty, so anybody can read it: {way}", source)]
        )
