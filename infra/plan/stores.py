"""Stores: what follows from a store's kind, and where a model lies in it."""

from collections.abc import Sequence

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.stores import AccessMode, Keep, PrefetchConfig, StoreConfig, StoreKind
from interlock.infra.naming import content_hash

WEIGHTS_DIR = "/var/lib/interlock/models"
"""Where a store is mounted in a pod."""

NODE_KINDS = frozenset({StoreKind.HOST_PATH, StoreKind.NODE_SYNC})
"""Kinds that mount a folder of the node, which Pod Security allows at the level ``privileged`` only."""

_ACCESS = {
    StoreKind.LOCAL: AccessMode.READ_WRITE_ONCE,
    StoreKind.NFS: AccessMode.READ_WRITE_MANY,
    StoreKind.JUICEFS: AccessMode.READ_WRITE_MANY,
    StoreKind.OBJECT_STORE: AccessMode.READ_ONLY_MANY,
}


def access_mode(store: StoreConfig) -> AccessMode:
    """The access mode of the store's claim."""
    return _ACCESS.get(store.kind, store.access)


def keep(store: StoreConfig, production: bool) -> Keep:
    """What happens to the store when the stack is destroyed. Data that nobody made here is never deleted."""
    return store.keep or (Keep.PROTECT if production else Keep.DELETE)


def claim_name(store: StoreConfig) -> str:
    """Name of the claim that pods mount."""
    return store.claim or store.name


def prefetched(store: StoreConfig | None, server: ServerConfig) -> PrefetchConfig | None:
    """The prefetch that brings the server's model into the store, or None."""
    if store is None:
        return None
    fitting = [each for each in store.prefetch if each.model == server.model.id]
    wanted = server.model.revision
    return next((each for each in fitting if wanted in (None, each.revision)), None)


def folder(prefetch: PrefetchConfig) -> str:
    """Folder of a prefetched model in its store: by revision, so that a new one never changes files under a running server."""
    return f"{prefetch.model}/{prefetch.revision}"


def weights_store(config: ClusterConfig, server: ServerConfig) -> StoreConfig | None:
    """The store of the server's weights; a copy on the nodes counts as what it copies."""
    stores = {store.name: store for store in config.stores}
    store = stores.get(server.weights or "")
    return stores.get(store.source, store) if store and store.source else store


def model_path(server: ServerConfig, store: StoreConfig | None) -> str:
    """The model as the pod sees it: a folder of the store, or the hub id."""
    if server.model.path and server.model.path.startswith("/"):
        return server.model.path
    if not (server.weights or server.model.path):
        return server.model.id
    if store is not None and store.kind is StoreKind.BUCKET:
        return f"{str(store.url).rstrip('/')}/{server.model.path or server.model.id}"
    fetched = prefetched(store, server)
    return f"{WEIGHTS_DIR}/{server.model.path or (folder(fetched) if fetched else server.model.id)}"


def streaming(store: StoreConfig | None) -> dict[str, str]:
    """Environment by which an engine streams from a bucket (runai-model-streamer-s3 0.17: files/files.py, libstreamers3.so)."""
    if store is None or store.kind is not StoreKind.BUCKET:
        return {}
    region = {"AWS_REGION": store.region} if store.region else {}
    # Clouds name a bucket in the host; servers with an address of their own seldom have a certificate for that.
    own = {"AWS_ENDPOINT_URL": store.endpoint, "RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING": "0"} if store.endpoint else {}
    return {**region, **own, **({"AWS_EC2_METADATA_DISABLED": "true"} if store.secret else {})}


def users(config: ClusterConfig, store: str) -> list[ServerConfig]:
    """Servers whose weights or compile cache are in the store, or in a copy of it."""
    names = {store, *(each.name for each in config.stores if each.source == store)}
    return [server for server in config.servers if server.weights in names or server.compile_cache in names]


def tolerated(config: ClusterConfig, store: str) -> Sequence[str]:
    """Taints of the pools from which the store is used: a Job that fills it may have to run there."""
    pools = {server.pool for server in users(config, store)}
    return sorted({key for pool in config.pools if pool.name in pools for key in pool.taints})


def cache_key(image: str, gpu: str, model: str, tensor_parallel: int) -> str:
    """Folder of a compile cache: compiled kernels hold for one image, GPU, model and TP only."""
    return content_hash({"image": image, "gpu": gpu, "model": model, "tp": tensor_parallel}, 16)
