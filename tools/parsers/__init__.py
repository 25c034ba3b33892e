"""Asks the argument parsers of vLLM itself whether they take the command lines that the planner makes."""
