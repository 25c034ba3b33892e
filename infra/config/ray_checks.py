"""What a config asks of Ray that cannot be, told before anything is planned."""

from collections.abc import Iterator

from interlock.infra.catalog.images import image_reference
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.models import ImageTrack
from interlock.infra.config.pools import Allocation, Sharing
from interlock.infra.config.ray import LONGEST_NAME, Serve
from interlock.infra.config.servers import Balance, ServerConfig
from interlock.infra.values import Version

WITHOUT_RAY = Version(0, 18)
"""The first vLLM whose images carry no Ray: it left the wheel's requirements."""
_PREFIX = "served by Ray"


def ray_problems(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """(path, problem) of every server and RayService."""
    services = [each.name for each in config.ray_services]
    used = {each.service for each in config.servers if each.serve is Serve.RAY}
    for index, name in enumerate(services):
        if name not in used:
            told = f"no server is in it: set servers[].serve: ray and ray_service: {name} on those that it runs, or remove it"
            yield f"ray_services[{index}].name", told
    for index, server in enumerate(config.servers):
        place = f"servers[{index}]"
        if server.serve is not Serve.RAY:
            yield from _elsewhere(server, place, used)
            continue
        if server.ray_service and server.ray_service not in services:
            listed = ", ".join(services) or "none"
            yield f"{place}.ray_service", f"{server.ray_service!r} is not a RayService of this stack; ray_services: {listed}"
        if len(server.service) > LONGEST_NAME:
            told = f"{server.service!r} has {len(server.service)} characters; KubeRay takes at most {LONGEST_NAME} for a RayService"
            yield f"{place}.name", f"{told}: name one in ray_services, and in ray_service"
        yield from _impossible(config, server, place)
        yield from _together(config, index)


def _elsewhere(server: ServerConfig, place: str, services: set[str]) -> Iterator[tuple[str, str]]:
    """A server with pods of its own that speaks of Ray, or whose name a RayService has."""
    if server.ray_service:
        yield f"{place}.ray_service", f"the server has pods of its own: set {place}.serve: ray, or remove it"
    if server.image.track is ImageTrack.RAY:
        yield f"{place}.image.track", f"ray is the track of servers in a RayService: set {place}.serve: ray, or remove it"
    if server.name in services:
        yield f"{place}.name", f"{server.name!r} is the name of a RayService, whose Service has the same name: choose another"


def _impossible(config: ClusterConfig, server: ServerConfig, place: str) -> Iterator[tuple[str, str]]:
    """What no server in a RayService can have."""
    pool = next((each for each in config.pools if each.name == server.pool), None)
    reference = image_reference(server.image.reference or "")
    version = Version.released(reference.tag) if server.image.reference else None
    if server.image.track not in (None, ImageTrack.RAY):
        why = "has no Ray in it" if server.image.track is ImageTrack.DEPLOYMENT else "is for tests without Ray"
        yield f"{place}.image.track", f"{server.image.track.value} {why}: remove it, and the track ray is used"
    if reference.is_on_hub("vllm/vllm-openai") and version and version >= WITHOUT_RAY:
        told = f"{server.image.reference} carries no Ray, which left vLLM's images in {WITHOUT_RAY}"
        yield f"{place}.image.reference", f"{told}: remove it for the pinned image of the track ray, or use a rayproject/ray-llm"
    if pool and (pool.share.kind is not Sharing.EXCLUSIVE or pool.allocation is Allocation.CLAIM):
        kind = "claims" if pool.allocation is Allocation.CLAIM else pool.share.kind.value
        told = f"pool {pool.name} gives out its cards by {kind}, and a Ray worker counts the whole cards in its pod's limits"
        yield f"{place}.pool", f"{told}: use an exclusive pool, or serve: deployment"
    for field, asks, why in _fields(server):
        if asks:
            yield f"{place}.{field}", f"{why}: remove it, or set serve: deployment"
    backend = server.engine.stated().get("distributed_executor_backend")
    if backend not in (None, "ray"):
        told = f"{backend!r} is refused by ray.serve.llm, which starts the ranks itself"
        yield f"{place}.engine.distributed_executor_backend", f"{told}: remove it"


def _fields(server: ServerConfig) -> Iterator[tuple[str, bool, str]]:
    yield "transfer", server.transfer is not None, "a prefill/decode pair is not planned for servers in a RayService"
    yield "balance", server.balance is Balance.NODES, "Serve's ingress takes the requests of every replica"
    strategy = "the cluster is replaced as a whole, by ray_services[].upgrade"
    yield "rollout.strategy", server.rollout.strategy is not None, strategy
    yield "runtime", bool(server.runtime.asked()), f"{', '.join(server.runtime.asked())} is of our supervisor, and Ray starts the engine"
    yield "engine.data_parallel_size", server.engine.dp > 1 and server.engine.pp > 1, "data-parallel ranks in Ray have one stage each"


def _together(config: ClusterConfig, index: int) -> Iterator[tuple[str, str]]:
    """What servers of one RayService cannot have beside each other."""
    server, place = config.servers[index], f"servers[{index}]"
    others = [each for at, each in enumerate(config.servers) if at < index and each.serve is Serve.RAY and each.service == server.service]
    name = server.served_name or server.model.id
    for other in others:
        if (other.served_name or other.model.id) == name:
            told = f"{name!r} is what server {other.name} is called in RayService {server.service} too, and clients choose by that name"
            yield f"{place}.served_name", f"{told}: give one of them another served_name"
        if other.image != server.image:
            told = f"the image differs from that of server {other.name} in RayService {server.service}, and a cluster has one Ray"
            yield f"{place}.image", f"{told}: state the same, or give it a RayService of its own"
        if server.engine.dp > 1 or other.engine.dp > 1:
            told = f"an application with data-parallel ranks has one model, and RayService {server.service} has also {other.name}"
            yield f"{place}.ray_service", f"{told}: give the one with data_parallel_size a RayService of its own"
