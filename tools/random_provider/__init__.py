"""A stand-in for the plugin of Pulumi's random provider, for machines where it cannot be fetched: local control planes and tests."""
