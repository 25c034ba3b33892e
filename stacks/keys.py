"""Tenants' keys: drawn by Pulumi, kept in the cluster as one Secret per tenant and one with keyed hashes, and nowhere in clear."""

import json
from collections.abc import Mapping
from typing import Any

import pulumi

from interlock.components._k8s import apply
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.access import KEYS, keys_objects
from interlock.infra.plan.access import key_id, valid_rotations
from interlock.runtime.gate.access import hashed

SECRET_LETTERS = 43
"""Letters and digits of a secret: 256 bits."""
HASH_KEY_BYTES = 32


def deploy_keys(config: ClusterConfig, stack: str, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Registers keys and Secrets; empty for a stack without tenants. A rotation adds a key and, one later, removes the one before."""
    objects = keys_objects(config, stack)
    if not objects:
        return []
    import pulumi_random as random  # noqa: PLC0415 - only stacks with tenants need it

    drawn = random.RandomBytes("tenants-hash-key", length=HASH_KEY_BYTES)
    owners = {key_id(each.name, number): each.name for each in config.access.tenants for number in valid_rotations(each)}
    texts = {name: random.RandomPassword(f"key-{name}", length=SECRET_LETTERS, special=False).result for name in owners}
    known: pulumi.Output[dict[str, str]] = pulumi.Output.all(hash_key=drawn.hex, **texts)
    made = [apply("tenants-keys", {**objects[0], "stringData": {KEYS: _secret(known.apply(lambda each: _file(each, owners)))}}, opts)]
    for each, manifest in zip(config.access.tenants, objects[1:], strict=True):
        name = key_id(each.name, each.rotation)
        key = _secret(pulumi.Output.concat(name, ".", texts[name]))
        made.append(apply(f"tenant-{each.name}-key", {**manifest, "stringData": {"key": key}}, opts))
    return made


def _secret(text: Any) -> pulumi.Output[str]:
    """The same, encrypted in the state and hidden wherever it is shown."""
    return pulumi.Output.secret(text)


def _file(known: Mapping[str, str], owners: Mapping[str, str]) -> str:
    return json.dumps(key_file(known["hash_key"], {name: (owner, known[name]) for name, owner in owners.items()}))


def key_file(hash_key: str, keys: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """What the engines read: tenant and keyed hash by the id of a key; ``keys``: tenant and secret by id."""
    entries = {
        name: {"tenant": holder, "hash": hashed(bytes.fromhex(hash_key), secret.encode()).hex()}
        for name, (holder, secret) in sorted(keys.items())
    }
    return {"hash_key": hash_key, "keys": entries}
