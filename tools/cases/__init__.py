"""Asks planner and rules about the facts of public failures: ``python -m tools.cases FILE``."""
