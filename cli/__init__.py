"""The interlock command."""
