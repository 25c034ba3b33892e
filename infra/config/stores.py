"""Model stores: where weights are kept."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from interlock.infra.config.base import Bytes, Config, Image, Name


class StoreKind(StrEnum):
    """What holds the weights."""

    CLAIM = "claim"
    EXISTING_CLAIM = "existing-claim"
    HOST_PATH = "host-path"
    LOCAL = "local"
    NODE_SYNC = "node-sync"
    NFS = "nfs"
    JUICEFS = "juicefs"
    OBJECT_STORE = "object-store"
    IMAGE = "image"


class AccessMode(StrEnum):
    """Kubernetes access modes of a claim."""

    READ_WRITE_MANY = "ReadWriteMany"
    READ_ONLY_MANY = "ReadOnlyMany"
    READ_WRITE_ONCE = "ReadWriteOnce"


class Keep(StrEnum):
    """What happens to the data when the stack is destroyed."""

    DELETE = "delete"
    RETAIN = "retain"
    PROTECT = "protect"


class PrefetchConfig(Config):
    """One model that a Job downloads into the store, once per revision."""

    model: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """Model id on the hub."""
    revision: str = Field(min_length=7, max_length=40, pattern=r"^[0-9a-f]+$")
    """Commit of the model repository; a branch would change under the servers."""
    endpoint: str = Field(default="https://huggingface.co", pattern=r"^https?://")
    """Address of the hub or of a mirror."""
    ignore: tuple[str, ...] = ("original/*", "*.gguf", "*.onnx", "*.pth", "*.bin")
    """File patterns that are not fetched."""
    token_secret: str | None = None
    """Existing Secret whose key ``token`` is the hub token."""
    image: Image | None = None
    """Image with Python 3.11 or later that runs the Job; omit for the pinned one."""


# Fields of their own by kind: (required, allowed beside them). A field that stands here is refused for every other kind.
FIELDS: dict[StoreKind, tuple[frozenset[str], frozenset[str]]] = {
    StoreKind.CLAIM: (frozenset(), frozenset({"size", "access", "storage_class"})),
    StoreKind.EXISTING_CLAIM: (frozenset({"claim"}), frozenset({"access"})),
    StoreKind.HOST_PATH: (frozenset({"path"}), frozenset({"nodes"})),
    StoreKind.LOCAL: (frozenset({"path", "nodes"}), frozenset({"size"})),
    StoreKind.NODE_SYNC: (frozenset({"path", "source"}), frozenset()),
    StoreKind.NFS: (frozenset({"server", "path"}), frozenset({"size", "mount_options"})),
    StoreKind.JUICEFS: (frozenset({"secret"}), frozenset({"size", "mount_options"})),
    StoreKind.OBJECT_STORE: (frozenset({"driver", "handle"}), frozenset({"size", "attributes", "secret", "mount_options"})),
    StoreKind.IMAGE: (frozenset({"image"}), frozenset()),
}
READ_ONLY = frozenset({StoreKind.IMAGE, StoreKind.NODE_SYNC, StoreKind.OBJECT_STORE})
"""Kinds that nothing in the cluster writes to through the store."""


class StoreConfig(Config):
    """One place that holds weights; servers refer to it by name."""

    name: Name
    """Name of the store."""
    kind: StoreKind = StoreKind.CLAIM
    """claim (made by this stack), existing-claim, host-path, local (local volumes on named nodes), node-sync (a copy of another
    store on every node of the pools that use it), nfs, juicefs, object-store (a CSI driver) or image (OCI image volume)."""
    size: Bytes = "100Gi"
    """Size of a claim that this stack makes."""
    access: AccessMode = AccessMode.READ_WRITE_MANY
    """Access mode of a claim."""
    storage_class: str | None = None
    """StorageClass of a claim; omit for the cluster's default."""
    claim: str | None = None
    """Name of an existing claim."""
    path: str | None = Field(default=None, pattern=r"^/")
    """Folder on the nodes (host-path, local, node-sync) or on the server (nfs)."""
    nodes: tuple[str, ...] = ()
    """Nodes that hold the folder (host-path, local)."""
    source: str | None = None
    """Store that node-sync copies from."""
    server: str | None = None
    """Address of the NFS server."""
    driver: str | None = None
    """CSI driver of an object store, such as ``s3.csi.aws.com``."""
    handle: str | None = None
    """Bucket or volume handle of an object store."""
    attributes: dict[str, str] = Field(default_factory=dict)
    """Volume attributes of the CSI driver."""
    secret: str | None = None
    """Existing Secret in the stack's namespace with the driver's credentials."""
    mount_options: tuple[str, ...] = ()
    """Mount options."""
    image: Image | None = None
    """OCI image with the weights, by digest."""
    keep: Keep | None = None
    """delete, retain (left in the cluster) or protect (destroy refuses it); omit for protect in production, else delete."""
    prefetch: tuple[PrefetchConfig, ...] = ()
    """Models that Jobs download into the store."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        required, allowed = FIELDS[self.kind]
        own = frozenset[str]().union(*(must | may for must, may in FIELDS.values()))
        # By value and not by what was written: a config that went through JSON states every field.
        given = {name for name in own if getattr(self, name) != type(self).model_fields[name].get_default(call_default_factory=True)}
        missing, foreign = sorted(required - given), sorted(given - required - allowed)
        if missing:
            raise ValueError(f"kind {self.kind} needs {', '.join(missing)}")
        if foreign:
            raise ValueError(
                f"{', '.join(foreign)} mean nothing for kind {self.kind}; it has {', '.join(sorted(required | allowed)) or 'no fields'}"
            )
        if self.prefetch and self.kind in READ_ONLY:
            raise ValueError(f"prefetch writes into the store, and kind {self.kind} is read only")
        if self.prefetch and self.kind in (StoreKind.CLAIM, StoreKind.EXISTING_CLAIM) and self.access is AccessMode.READ_ONLY_MANY:
            raise ValueError("prefetch writes into the store, and access ReadOnlyMany forbids it: write ReadWriteMany, or remove prefetch")
        return self
