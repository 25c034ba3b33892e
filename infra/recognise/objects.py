"""Claims, Secrets, ConfigMaps and quotas."""

import base64
import binascii
from collections.abc import Iterator

from interlock.infra.facts import Claim, Fact, Quota, SecretObject, known, unknown
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin


def read_claim(root: Node, document: Document, context: Context) -> Iterator[Claim]:
    """A PersistentVolumeClaim."""
    spec = root["spec"]
    modes = spec["accessModes"]
    texts = [mode.text() for mode in modes.items()]
    stated = bool(texts) and all(text.known for text in texts)
    fact: Fact[tuple[str, ...]] = known(tuple(text.get() for text in texts), modes.path) if stated else Fact(path=modes.path)
    if modes and not stated:
        fact = unknown(modes.path, "not a list of plain texts")
    yield Claim(origin(root, document), fact, spec["storageClassName"].text(), spec.at("resources", "requests", "storage").size())


def read_secret(root: Node, document: Document, context: Context) -> Iterator[SecretObject]:
    """A Secret: ``data`` decoded, ``stringData`` as it stands."""
    data = {key: _decoded(node) for key, node in root["data"].fields()}
    yield SecretObject(origin(root, document), {**data, **root["stringData"].facts()})


def _decoded(node: Node) -> Fact[str]:
    fact = node.text()
    if not fact.known:
        return fact
    try:
        return known(base64.b64decode(fact.get(), validate=True).decode(), node.path)
    except (binascii.Error, ValueError):
        # Not base64 at all: the API server refuses it, and what stands there may well be the secret itself.
        return known(fact.get(), node.path)


def read_config_map(root: Node, document: Document, context: Context) -> Iterator[SecretObject]:
    """A ConfigMap."""
    yield SecretObject(origin(root, document), root["data"].facts(raw=True))


def read_quota(root: Node, document: Document, context: Context) -> Iterator[Quota]:
    """A ResourceQuota."""
    yield Quota(origin(root, document), root.at("spec", "hard").facts())
