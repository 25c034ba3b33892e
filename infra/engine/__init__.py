"""The engine's command line: the flags a person sets, and the one reader of a command line that was written."""
