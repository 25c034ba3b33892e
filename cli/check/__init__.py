"""``interlock check``: the rules over any YAML."""
