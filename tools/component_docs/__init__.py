"""docs/components.md and docs/components.schema.json, from the components' own types."""
