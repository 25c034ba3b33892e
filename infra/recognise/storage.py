"""Where volumes come from, and what a namespace allows: namespaces, storage classes, local volumes."""

from collections.abc import Iterator

from interlock.infra.facts import DiskVolume, Namespace, StorageClass
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin

ENFORCE = "pod-security.kubernetes.io/enforce"


def read_namespace(root: Node, document: Document, context: Context) -> Iterator[Namespace]:
    """A Namespace."""
    yield Namespace(origin(root, document), root["metadata"]["labels"][ENFORCE].text())


def read_storage_class(root: Node, document: Document, context: Context) -> Iterator[StorageClass]:
    """A StorageClass."""
    yield StorageClass(origin(root, document), root["provisioner"].text(), root["volumeBindingMode"].text())


def read_volume(root: Node, document: Document, context: Context) -> Iterator[DiskVolume]:
    """A PersistentVolume that lies on nodes."""
    spec = root["spec"]
    nodes = _nodes(spec.at("nodeAffinity", "required", "nodeSelectorTerms"))
    if spec["local"] or spec["hostPath"] or nodes:
        folder, claim = spec.at("hostPath", "path").text(), spec.at("claimRef", "name").string()
        space = spec.at("claimRef", "namespace").string()
        yield DiskVolume(origin(root, document), spec["storageClassName"].text(), bool(spec["local"]), folder, nodes, claim, space)


def _nodes(terms: Node) -> dict[str, tuple[str, ...]]:
    """Labels with the values that a node must have; several terms are alternatives, of which nothing is certain."""
    each = list(terms.items())
    found: dict[str, tuple[str, ...]] = {}
    for expression in each[0]["matchExpressions"].items() if len(each) == 1 else ():
        values = tuple(value.string() for value in expression["values"].items())
        if expression["operator"].string() == "In" and values and all(values):
            found[expression["key"].string()] = values
    return found
