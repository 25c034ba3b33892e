"""Pulumi's Python language host, for machines where Pulumi's own release cannot be fetched."""
