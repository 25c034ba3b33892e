"""CrossGuard policy pack: the rules of infra on any Pulumi program."""
