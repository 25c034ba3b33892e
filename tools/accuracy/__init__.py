"""How wrong the memory planner is: its answers against public vLLM logs and measured runs.

``python -m tools.accuracy`` writes the report.
"""
