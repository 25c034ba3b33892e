"""Pulumi ComponentResources, one per file: they place and wire what the plan decided."""
