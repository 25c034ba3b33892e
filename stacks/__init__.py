"""Pulumi programs: the only readers of stack configuration."""
