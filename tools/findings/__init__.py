"""Writes docs/findings.md from the rules and their examples: ``python -m tools.findings [--check]``."""
