"""Which kubeconfig and which context of it a stack's target names. Needs no Pulumi."""

import os
from pathlib import Path

from interlock.infra.config import ClusterConfig

RUN_FOLDER = "INTERLOCK_RUN"
"""Environment variable that moves the run folder of local control planes."""


def run_folder() -> Path:
    """Where local control planes keep their state."""
    return Path(os.environ.get(RUN_FOLDER) or Path.home() / ".cache" / "interlock" / "run")


def kubeconfig_path(config: ClusterConfig) -> str:
    """The kubeconfig file that the target names."""
    if config.target.local:
        return str(run_folder() / config.target.local / "kubeconfig")
    return str(Path(config.target.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser())


def context_of(config: ClusterConfig) -> str:
    """The context that the target names."""
    return config.target.context or f"interlock-{config.target.local}"
