"""Reads flags, environment variables and metrics out of vLLM wheels, without running vLLM."""
