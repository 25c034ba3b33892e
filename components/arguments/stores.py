"""A store as the config describes it. Written by `python -m tools.component_arguments`."""

from typing import NotRequired, TypedDict

import pulumi

from interlock.infra.config.stores import AccessMode, Keep, StoreKind


class PrefetchSettings(TypedDict):
    """One model that a Job downloads into the store, once per revision."""

    model: str
    """Model id, as servers name it."""
    revision: str
    """Commit of the model repository (7 to 40 hex digits; a branch would change under the servers); of a bucket, a name of your own for
    what lies there, changed whenever the files change."""
    source: NotRequired[str]
    """Where it comes from: ``s3://BUCKET/FOLDER``, ``gs://...``, ``oss://...`` or ``modelscope://OWNER/NAME``; omit for the hub."""
    endpoint: NotRequired[str]
    """Address of a hub, of a mirror, or of what speaks S3; omit for that of the source. OSS and stores in the cluster need one."""
    region: NotRequired[str]
    """Region of a bucket; omit for us-east-1."""
    secret: NotRequired[str]
    """Existing Secret with ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, also for what speaks S3 elsewhere (GCS: an HMAC key)."""
    service_account: NotRequired[str]
    """Service account of the Job: one of ``service_accounts``, or one that is there, to which the cloud gives access."""
    ignore: NotRequired[list[str]]
    """File patterns that are not fetched."""
    token_secret: NotRequired[str]
    """Existing Secret whose key ``token`` is the hub's token."""
    image: NotRequired[str]
    """Image with Python 3.11 or later that runs the Job; omit for the pinned one."""


class StoreSettings(TypedDict):
    """One place that holds weights; servers refer to it by name."""

    name: NotRequired[str]
    """Name of the store."""
    kind: NotRequired[StoreKind]
    """claim (made by this stack), existing-claim, host-path, local (local volumes on named nodes), node-sync (a copy of another
    store on every node of the pools that use it), nfs, juicefs, object-store (a CSI driver), image (OCI image volume) or bucket (nothing
    is mounted: the engine streams the weights)."""
    size: NotRequired[str]
    """Size of a claim that this stack makes."""
    access: NotRequired[AccessMode]
    """Access mode of a claim."""
    storage_class: NotRequired[str]
    """StorageClass of a claim; omit for the cluster's default."""
    claim: NotRequired[pulumi.Input[str]]
    """Name of an existing claim."""
    path: NotRequired[str]
    """Folder on the nodes (host-path, local, node-sync) or on the server (nfs)."""
    nodes: NotRequired[list[str]]
    """Nodes that hold the folder (host-path, local)."""
    source: NotRequired[str]
    """Store that node-sync copies from."""
    server: NotRequired[pulumi.Input[str]]
    """Address of the NFS server."""
    driver: NotRequired[str]
    """CSI driver of an object store, such as ``s3.csi.aws.com``."""
    handle: NotRequired[pulumi.Input[str]]
    """Bucket or volume handle of an object store."""
    attributes: NotRequired[dict[str, str]]
    """Volume attributes of the CSI driver."""
    url: NotRequired[str]
    """Folder of a bucket, such as ``s3://models/prod``; the model lies below it as ``model.path``, else as its id."""
    endpoint: NotRequired[str]
    """Address of a bucket that speaks S3 elsewhere than at AWS."""
    region: NotRequired[str]
    """Region of a bucket."""
    secret: NotRequired[pulumi.Input[str]]
    """Existing Secret in the stack's namespace with the driver's credentials; of a bucket ``AWS_ACCESS_KEY_ID`` and
    ``AWS_SECRET_ACCESS_KEY``, omitted where the servers' service account has access."""
    filled: NotRequired[str]
    """Who puts the weights into a claim that this stack makes, where no prefetch does."""
    mount_options: NotRequired[list[str]]
    """Mount options."""
    image: NotRequired[str]
    """OCI image with the weights, by digest."""
    keep: NotRequired[Keep]
    """delete, retain (left in the cluster) or protect (destroy refuses it); omit for protect in production, else delete."""
    prefetch: NotRequired[list[PrefetchSettings]]
    """Models that Jobs download into the store."""
