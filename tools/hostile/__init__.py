"""Documents that nobody would write, for ``interlock check`` to survive: ``python -m tools.hostile --count 10000``."""
