"""Pure decisions: config, catalog, sizing, plan, manifests, recognition and rules. No pulumi, no I/O but package data."""
