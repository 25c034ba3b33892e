"""The lines of the printed budget, each with its interval."""
