"""A store as the config describes it. Written by `python -m tools.component_arguments`."""

from typing import NotRequired, TypedDict

import pulumi

from interlock.infra.config.stores import AccessMode, Keep, StoreKind


class PrefetchSettings(TypedDict):
    """One model that a Job downloads into the store, once per revision."""

    model: str
    """Model id on the hub."""
    revision: str
    """Commit of the model repository; a branch would change under the servers."""
    endpoint: NotRequired[str]
    """Address of the hub or of a mirror."""
    ignore: NotRequired[list[str]]
    """File patterns that are not fetched."""
    token_secret: NotRequired[str]
    """Existing Secret whose key ``token`` is the hub token."""
    image: NotRequired[str]
    """Image with Python 3.11 or later that runs the Job; omit for the pinned one."""


class StoreSettings(TypedDict):
    """One place that holds weights; servers refer to it by name."""

    name: NotRequired[str]
    """Name of the store."""
    kind: NotRequired[StoreKind]
    """claim (made by this stack), existing-claim, host-path, local (local volumes on named nodes), node-sync (a copy of another
    store on every node of the pools that use it), nfs, juicefs, object-store (a CSI driver) or image (OCI image volume)."""
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
    secret: NotRequired[pulumi.Input[str]]
    """Existing Secret in the stack's namespace with the driver's credentials."""
    mount_options: NotRequired[list[str]]
    """Mount options."""
    image: NotRequired[str]
    """OCI image with the weights, by digest."""
    keep: NotRequired[Keep]
    """delete, retain (left in the cluster) or protect (destroy refuses it); omit for protect in production, else delete."""
    prefetch: NotRequired[list[PrefetchSettings]]
    """Models that Jobs download into the store."""
