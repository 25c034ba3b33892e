"""The supervisor: starts the engine, ends it without losing a request, and says why it ended."""
