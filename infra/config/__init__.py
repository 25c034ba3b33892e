"""What a person writes, one module per concern; ``load`` turns plain data into a ClusterConfig."""

from interlock.infra.config.cluster import CONFIG_VERSION, ClusterConfig, Scope
from interlock.infra.config.load import load

__all__ = ["CONFIG_VERSION", "ClusterConfig", "Scope", "load"]
