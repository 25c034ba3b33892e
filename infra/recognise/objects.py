"""Claims, Secrets, ConfigMaps and quotas."""

import base64
import binascii
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from interlock.infra.facts import Claim, Fact, LimitRange, Quota, SecretObject, known, unknown
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
    size = spec.at("resources", "requests", "storage").size()
    yield Claim(
        origin(root, document),
        fact,
        spec["storageClassName"].text(),
        size,
        volume=spec["volumeName"].text(),
        copied=bool(spec.first("dataSource", "dataSourceRef")),
    )


def claim_users(documents: Iterable[Document]) -> Counter[tuple[str, str]]:
    """How often each claim is named by a pod of the documents: (namespace, claim) to count."""
    users: Counter[tuple[str, str]] = Counter()
    for document in documents:
        namespace = Node(document.data, document.path).at("metadata", "namespace").string()
        users.update((namespace, name) for name in _claim_names(document.data, 0))
    return users


def _claim_names(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping) and depth < 40:
        for key, inner in value.items():
            if key in ("claimName", "existingClaim", "pvcName") and isinstance(inner, str):
                yield inner
            elif key == "pvcs" and isinstance(inner, list):  # DynamoGraphDeployment
                yield from (each["name"] for each in inner if isinstance(each, Mapping) and isinstance(each.get("name"), str))
            else:
                yield from _claim_names(inner, depth + 1)
    elif isinstance(value, list | tuple) and depth < 40:
        for inner in value:
            yield from _claim_names(inner, depth + 1)
    elif isinstance(value, str) and value.startswith("pvc://"):
        yield value.removeprefix("pvc://").split("/")[0]


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
    """A ResourceQuota. One with a scope counts only some pods of the namespace, which are not told apart here."""
    if not root.at("spec", "scopes") and not root.at("spec", "scopeSelector"):
        yield Quota(origin(root, document), root.at("spec", "hard").facts())


def read_limits(root: Node, document: Document, context: Context) -> Iterator[LimitRange]:
    """A LimitRange: what it asks of containers and pods."""
    for item in root.at("spec", "limits").items():
        if item["type"].string() in ("Container", "Pod"):
            yield LimitRange(origin(root, document), item["type"].string(), item["max"].facts(), item["min"].facts())
