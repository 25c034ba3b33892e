"""Manifests, Pulumi properties and plans -> workload facts, one module per form."""
