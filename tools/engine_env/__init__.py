"""The engine environment: the real vLLM for CPUs in a virtual environment of its own, and tiny models for it."""
