"""The policy pack: everything is in pack.py."""

from pulumi_policy import PolicyPack

from interlock.policies.pack import policies

PolicyPack("interlock", policies())
