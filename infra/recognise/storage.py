"""Where volumes come from, and what a namespace allows: namespaces, storage classes, local volumes."""

from collections.abc import Iterator

from interlock.infra.facts import LocalVolume, Namespace, StorageClass
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin

ENFORCE = "pod-security.kubernetes.io/enforce"


def read_namespace(root: Node, document: Document, context: Context) -> Iterator[Namespace]:
    """A Namespace."""
    yield Namespace(origin(root, document), root["metadata"]["labels"][ENFORCE].text())


def read_storage_class(root: Node, document: Document, context: Context) -> Iterator[StorageClass]:
    """A StorageClass."""
    yield StorageClass(origin(root, document), root["provisioner"].text(), root["volumeBindingMode"].text())


def read_volume(root: Node, document: Document, context: Context) -> Iterator[LocalVolume]:
    """A PersistentVolume, when it is local."""
    if root.at("spec", "local"):
        yield LocalVolume(origin(root, document), root.at("spec", "storageClassName").text())
