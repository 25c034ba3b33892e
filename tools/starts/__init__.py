"""Starts the real vLLM with command lines of the plan, one after another."""
