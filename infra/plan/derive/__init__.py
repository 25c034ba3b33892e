"""From wishes to arguments: one module per decision, each with its reason and the alternative that was not taken."""
