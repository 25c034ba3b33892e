"""Interlock: a Pulumi program that runs vLLM on Kubernetes and refuses deployments whose layers contradict each other."""

__version__ = "0.1.0"
