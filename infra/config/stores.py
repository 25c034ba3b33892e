"""Model stores: where weights are kept."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from interlock.infra.config.base import Bytes, Config, Image, Name, ObjectName


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
    BUCKET = "bucket"


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


_FOLDER = r"://[a-z0-9][a-z0-9._-]+(/\S*)?"


def _address(pattern: str, example: str) -> AfterValidator:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"{value!r} is not an address such as {example}")
        return value

    return AfterValidator(check)


Source = Annotated[str, _address(rf"(s3|gs|oss){_FOLDER}|modelscope://[\w.-]+/[\w.-]+", "s3://BUCKET/FOLDER or modelscope://OWNER/NAME")]
"""Where a Job fetches from."""
Url = Annotated[str, _address(rf"(s3|gs|az){_FOLDER}", "s3://BUCKET/FOLDER")]
"""Where an engine streams from."""


class PrefetchConfig(Config):
    """One model that a Job downloads into the store, once per revision."""

    model: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """Model id, as servers name it."""
    revision: str = Field(min_length=1, max_length=64, pattern=r"^[\w][\w.-]*$")
    """Commit of the model repository (7 to 40 hex digits; a branch would change under the servers); of a bucket, a name of your own for
    what lies there, changed whenever the files change."""
    source: Source | None = None
    """Where it comes from: ``s3://BUCKET/FOLDER``, ``gs://...``, ``oss://...`` or ``modelscope://OWNER/NAME``; omit for the hub."""
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^\s/]+")
    """Address of a hub, of a mirror, or of what speaks S3; omit for that of the source. OSS and stores in the cluster need one."""
    region: str | None = Field(default=None, pattern=r"^[\w-]+$")
    """Region of a bucket; omit for us-east-1."""
    secret: ObjectName | None = None
    """Existing Secret with ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, also for what speaks S3 elsewhere (GCS: an HMAC key)."""
    service_account: ObjectName | None = None
    """Service account of the Job: one of ``service_accounts``, or one that is there, to which the cloud gives access."""
    ignore: tuple[str, ...] = ("original/*", "*.gguf", "*.onnx", "*.pth", "*.bin")
    """File patterns that are not fetched."""
    token_secret: str | None = None
    """Existing Secret whose key ``token`` is the hub's token."""
    image: Image | None = None
    """Image with Python 3.11 or later that runs the Job; omit for the pinned one."""

    @property
    def scheme(self) -> str:
        """``s3``, ``gs``, ``oss``, ``modelscope``; empty for the hub."""
        return (self.source or "").partition("://")[0]

    @property
    def address(self) -> str:
        """Where requests go; empty where it follows from a bucket's region."""
        return self.endpoint or ENDPOINTS.get(self.scheme, "")

    @model_validator(mode="after")
    def _of_its_source(self) -> Self:
        bucket = self.scheme in BUCKETS
        if not bucket and not re.fullmatch(r"[0-9a-f]{7,40}", self.revision):
            raise ValueError(f"revision: {self.revision!r} is not a commit of 7 to 40 hex digits: a branch would change under the servers")
        wrong = [name for name in ("region", "secret", "service_account") if getattr(self, name) and not bucket]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: for buckets only; the hub takes token_secret")
        if self.token_secret and self.scheme:
            other = "a bucket takes secret or service_account" if bucket else "of ModelScope, public models are fetched"
            raise ValueError(f"token_secret: for the hub only; {other}")
        if self.scheme == "oss" and not self.endpoint:
            raise ValueError("endpoint is missing: OSS has one for each region, such as https://oss-cn-hangzhou.aliyuncs.com")
        return self


BUCKETS = ("s3", "gs", "oss")
"""Schemes of buckets that Jobs fetch from."""
ENDPOINTS = {"": "https://huggingface.co", "modelscope": "https://modelscope.cn", "gs": "https://storage.googleapis.com"}
"""Addresses of sources that have one."""

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
    StoreKind.BUCKET: (frozenset({"url"}), frozenset({"endpoint", "region", "secret"})),
}
READ_ONLY = frozenset({StoreKind.IMAGE, StoreKind.NODE_SYNC, StoreKind.OBJECT_STORE, StoreKind.BUCKET})
"""Kinds that nothing in the cluster writes to through the store."""


class StoreConfig(Config):
    """One place that holds weights; servers refer to it by name."""

    name: Name
    """Name of the store."""
    kind: StoreKind = StoreKind.CLAIM
    """claim (made by this stack), existing-claim, host-path, local (local volumes on named nodes), node-sync (a copy of another
    store on every node of the pools that use it), nfs, juicefs, object-store (a CSI driver), image (OCI image volume) or bucket (nothing
    is mounted: the engine streams the weights)."""
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
    url: Url | None = None
    """Folder of a bucket, such as ``s3://models/prod``; the model lies below it as ``model.path``, else as its id."""
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^\s/]+")
    """Address of a bucket that speaks S3 elsewhere than at AWS."""
    region: str | None = Field(default=None, pattern=r"^[\w-]+$")
    """Region of a bucket."""
    secret: str | None = None
    """Existing Secret in the stack's namespace with the driver's credentials; of a bucket ``AWS_ACCESS_KEY_ID`` and
    ``AWS_SECRET_ACCESS_KEY``, omitted where the servers' service account has access."""
    filled: str | None = Field(default=None, min_length=3)
    """Who puts the weights into a claim that this stack makes, where no prefetch does."""
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
