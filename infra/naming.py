"""Kubernetes names: deterministic, checked against their limits, never cut silently."""

import hashlib
import json
import re
from typing import Any

from interlock.infra.errors import ConfigError, Problem

LABEL_LIMIT = 63
_DNS_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")

PREFIX = "interlock.dev"

MANAGED_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "interlock"


def check_name(name: str, limit: int = LABEL_LIMIT) -> str | None:
    """Why ``name`` cannot be a Kubernetes DNS label of at most ``limit`` characters, or None."""
    if len(name) > limit:
        return f"{name!r} has {len(name)} characters; at most {limit} fit: choose a shorter name"
    if not _DNS_LABEL.match(name):
        return f"{name!r} is not a DNS label: lower-case letters, digits and '-', starting and ending with a letter or digit"
    return None


def joined(*parts: str) -> str:
    """A Kubernetes name made of ``parts``. Raises ConfigError when it is longer than 63 characters or not a DNS label."""
    name = "-".join(part for part in parts if part)
    problem = check_name(name)
    if problem:
        raise ConfigError([Problem("", problem)])
    return name


def content_hash(data: Any, length: int = 10) -> str:
    """A short, stable hash of plain data: what immutable ConfigMaps are named by."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def label(key: str) -> str:
    """A label or annotation key of ours: ``interlock.dev/<key>``."""
    return f"{PREFIX}/{key}"
