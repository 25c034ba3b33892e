"""Kubernetes names: deterministic, checked against their limits, never cut silently."""

import hashlib
import json
import re
from typing import Any

from interlock.infra.errors import ConfigError, Problem

LABEL_LIMIT = 63
_DNS_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_TEXT = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
SUBDOMAIN_LIMIT = 253

PREFIX = "interlock.dev"

MANAGED_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "interlock"
ENGINE = "engine"
"""Container of the engine in a pod of ours; a patch of that name changes it."""


def check_name(name: str, limit: int = LABEL_LIMIT) -> str | None:
    """Why ``name`` cannot be a Kubernetes DNS label of at most ``limit`` characters, or None."""
    if len(name) > limit:
        return f"{name!r} has {len(name)} characters; at most {limit} fit: choose a shorter name"
    if not _DNS_LABEL.match(name):
        return f"{name!r} is not a DNS label: lower-case letters, digits and '-', starting and ending with a letter or digit"
    return None


def subdomain_problem(name: str) -> str | None:
    """Why ``name`` cannot name an object of Kubernetes (nodes, Secrets, classes), or None."""
    if len(name) > SUBDOMAIN_LIMIT or not _SUBDOMAIN.fullmatch(name):
        return f"{name!r} cannot name an object: lower-case letters, digits, '-' and '.', at most {SUBDOMAIN_LIMIT}"
    return None


def host_problem(host: str) -> str | None:
    """Why ``host`` cannot be the host name of a route, or None; ``*.example.com`` is one."""
    if subdomain_problem(host.removeprefix("*.")):
        return f"{host!r} is not a host name such as chat.example.com or *.example.com (lower case, without scheme, port and path)"
    return None


def label_key_problem(key: str) -> str | None:
    """Why ``key`` cannot be the key of a label, a taint or an annotation, or None."""
    prefix, slash, name = key.rpartition("/")
    if (slash and subdomain_problem(prefix)) or len(name) > LABEL_LIMIT or not _LABEL_TEXT.fullmatch(name):
        return f"{key!r} is not a key such as team or example.com/team: letters, digits, '-', '_' and '.', at most {LABEL_LIMIT}"
    return None


def label_value_problem(value: str) -> str | None:
    """Why ``value`` cannot be the value of a label, or None."""
    if value and (len(value) > LABEL_LIMIT or not _LABEL_TEXT.fullmatch(value)):
        return f"{value!r} cannot be a label's value: letters, digits, '-', '_' and '.', at most {LABEL_LIMIT}"
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
