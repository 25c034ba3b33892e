"""What a person writes, one module per concern; ``load`` turns plain data into a ClusterConfig."""

from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.config.load import load

__all__ = ["ClusterConfig", "Scope", "load"]
