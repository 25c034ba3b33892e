"""Who may ask for what: two JSON texts as frozen tables, and the look-up of a key.

``access.json`` has nothing secret: tenants, what they may use and how much. ``keys.json`` has the keyed hashes of the tenants' keys. A
key is ``id.secret``: the id finds one entry, and the secret is compared by its keyed hash (BLAKE2b) in constant time, also where no
such id is.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

CLASSES = MappingProxyType({"interactive": 1, "standard": 4, "batch": 20})
"""Milliseconds of patience per token that a request is estimated at, by the class of its tenant."""
MOST_BODY = 32 << 20
LONGEST_KEY = 256
"""Characters of a key; what is longer is refused before it is hashed."""
NOBODY = ("", bytes(32))


class AccessError(Exception):
    """The text is not what it must be; the message names the place."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant. 0 = no limit."""

    name: str
    kind: str = "standard"
    models: frozenset[str] | None = None
    """Models and adapters that it may ask for; None = all."""
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    """Prompt and completion."""
    concurrency: int = 0
    """Requests at the same time."""
    expires: float = 0
    """Seconds since 1970; 0 = never."""

    def may_use(self, model: str) -> bool:
        """Whether it may ask for the model or adapter."""
        return self.models is None or model in self.models


@dataclass(frozen=True, slots=True)
class Policy:
    """``access.json``."""

    tenants: dict[str, Tenant] = field(default_factory=dict)
    model: str = ""
    """What a request without a model gets."""
    models: frozenset[str] = frozenset()
    """Names that the server answers to: a metric has no other label."""
    routes: frozenset[str] = frozenset()
    """Further routes that a key opens."""
    most_body: int = MOST_BODY
    """Bytes of a request."""
    capacity: int = 0
    """Requests that the engine takes at the same time before fairness among tenants counts; 0 = not known."""
    transfers: bool = False
    """Whether a router in front writes where another engine keeps blocks, and drops what a client wrote there."""


@dataclass(frozen=True, slots=True)
class Keys:
    """``keys.json``: (tenant, hash) by the id of a key."""

    hash_key: bytes = b""
    entries: dict[str, tuple[str, bytes]] = field(default_factory=dict)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise AccessError(f"{twice!r} stands there twice")
    return made


def _read(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise AccessError(f"is not whole JSON ({type(error).__name__}, {len(text)} bytes)") from None
    if not isinstance(found, dict):
        raise AccessError("is not a JSON object")
    return found


def _take(found: dict[str, Any], name: str, kind: type, default: Any, place: str = "") -> Any:
    value = found.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < 0):
        raise AccessError(f"{place}{name} is {type(value).__name__} {str(value)[:20]!r} and must be {_WORDS[kind]}")
    return value


_WORDS = {int: "a whole number that is not negative", str: "text", list: "a list of names", dict: "an object"}


def _names(found: dict[str, Any], name: str, place: str = "") -> frozenset[str]:
    listed = _take(found, name, list, [], place)
    if not all(isinstance(each, str) for each in listed):
        raise AccessError(f"{place}{name} must be {_WORDS[list]}")
    return frozenset(listed)


def read_policy(text: bytes) -> Policy:
    """``access.json``. Raises AccessError."""
    found = _read(text)
    tenants = {}
    for name, each in _take(found, "tenants", dict, {}).items():
        place = f"tenants.{name}."
        if not isinstance(each, dict):
            raise AccessError(f"{place} must be an object")
        kind = _take(each, "class", str, "standard", place)
        if kind not in CLASSES:
            raise AccessError(f"{place}class is {kind[:20]!r} and must be one of {', '.join(CLASSES)}")
        limits = {key: _take(each, key, int, 0, place) for key in ("requests_per_minute", "tokens_per_minute", "concurrency", "expires")}
        tenants[name] = Tenant(name, kind, _names(each, "models", place) if "models" in each else None, **limits)
    return Policy(
        tenants,
        _take(found, "model", str, ""),
        _names(found, "models"),
        _names(found, "routes"),
        _take(found, "max_body_bytes", int, MOST_BODY),
        _take(found, "capacity", int, 0),
        found.get("transfers") is True,
    )


def _secret(found: dict[str, Any], name: str) -> str:
    """A text of which no part may be said."""
    if not isinstance(value := found.get(name, ""), str):
        raise AccessError(f"{name} is {type(value).__name__} and must be text")
    return value


def read_keys(text: bytes) -> Keys:
    """``keys.json``. Raises AccessError, whose message holds no part of a key or hash."""
    found = _read(text)
    try:
        hash_key = bytes.fromhex(_secret(found, "hash_key"))
        entries = {name: (_secret(each, "tenant"), bytes.fromhex(_secret(each, "hash"))) for name, each in found.get("keys", {}).items()}
    except (ValueError, AttributeError):
        raise AccessError("a hash or the hash key is not hexadecimal, or an entry is not an object") from None
    if not 16 <= len(hash_key) <= 64 or any(len(digest) != 32 or "." in name for name, (_, digest) in entries.items()):
        raise AccessError("the hash key has not 16 to 64 bytes, a hash has not 32, or an id has a dot")
    return Keys(hash_key, entries)


def hashed(hash_key: bytes, secret: bytes) -> bytes:
    """What is kept of a key's secret."""
    return hashlib.blake2b(secret, key=hash_key, digest_size=32).digest()


def holder(keys: Keys, presented: bytes) -> str:
    """The tenant whose key that is; empty when it is nobody's. One look-up and one hash, whatever was presented."""
    name, dot, secret = presented[: LONGEST_KEY + 1].partition(b".")
    tenant, digest = keys.entries.get(name.decode("latin-1"), NOBODY)
    same = hmac.compare_digest(hashed(keys.hash_key, secret), digest)
    return tenant if same and dot and len(presented) <= LONGEST_KEY else ""
