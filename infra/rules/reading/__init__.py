"""How rules read facts; no rule lives here."""
