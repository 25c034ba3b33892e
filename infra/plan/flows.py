"""Which traffic a server's pods, and the Jobs that fill a store, need: all other traffic is denied."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from interlock.infra.catalog.routes import controller_namespace
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.exposure import RouteConfig, RouteKind
from interlock.infra.config.network import PeerConfig
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.split import split_of
from interlock.infra.config.stores import StoreConfig
from interlock.infra.engine.args import ServeArgs
from interlock.infra.naming import label
from interlock.infra.plan.peers import Flow, Peer, PlannedFlows, Port

MONITORING = "monitoring"
DNS = Flow(peers=(), ports=(Port(number=53, protocol="UDP"), Port(number=53)), source="network.policies")
"""To everybody: where names are answered differs (pods, a cache on the node, a cloud's address)."""
# Standard ports of schemes in addresses that state none.
_PORTS = {"http": 80, "https": 443, "s3": 443, "gs": 443, "az": 443, "grpc": 4317, "redis": 6379, "rediss": 6379}
_ADDRESS = re.compile(rf"\b(?:{'|'.join(_PORTS)})://[^\s\"',]+")


def server_flows(
    config: ClusterConfig, stack: str, server: ServerConfig, args: ServeArgs, env: Mapping[str, str], *, pods: int
) -> PlannedFlows:
    """The traffic of a server's pods; ``pods``: how many of them a replica has."""
    named = config.network
    asked, joined = (Port(number=args.port),), _joined(config, stack, server, pods)
    clients = (Peer(namespace=config.namespace),) if named.clients is None else peers(named.clients)
    inside = [Flow(peers=clients, ports=asked, source="network.clients")] if clients else []
    monitoring = Flow(peers=peers(named.monitoring) or (_prometheus(config),), ports=asked, source="network.monitoring")
    called = addresses([*args.to_argv(), *env.values(), *_proxy(config)]) | (set() if args.model.startswith("/") else {443})
    return PlannedFlows(
        into=(*inside, monitoring, *joined, *_entry(config, server.route, asked), *_split(config, server, asked)),
        out=(DNS, *_called(called, "model"), *joined, *_stated(config)),
    )


def store_flows(config: ClusterConfig, store: StoreConfig) -> PlannedFlows:
    """The traffic of the Jobs that fill ``store``: nobody asks them, and they ask the hub, which sends large files from other hosts."""
    called = addresses([*(each.address for each in store.prefetch), *_proxy(config)]) | {443}
    return PlannedFlows(out=(DNS, *_called(called, "prefetch"), *_stated(config)))


def _joined(config: ClusterConfig, stack: str, server: ServerConfig, pods: int) -> list[Flow]:
    """Between the pods of replicas that lie on several nodes, and between the two sides of a pair: on ports that are chosen at run time."""
    named = {"nodes": [server.name] if pods > 1 else [], "transfer": pairs(config, server)}
    return [
        Flow(peers=tuple(Peer(pods={label("stack"): stack, label("server"): each}) for each in names), ports=(), source=source)
        for source, names in named.items()
        if names
    ]


def pairs(config: ClusterConfig, server: ServerConfig) -> list[str]:
    """Servers that hand KV caches to this one, or take them from it."""
    if server.transfer is None:
        return []
    return [
        each.name
        for each in config.servers
        if each.transfer and each.model.id == server.model.id and each.transfer.role is not server.transfer.role
    ]


def peers(stated: Iterable[PeerConfig] | None) -> tuple[Peer, ...]:
    """What a person named."""
    return tuple(Peer(namespace=each.namespace or "", pods=each.pods, cidr=each.cidr or "") for each in stated or ())


def addresses(texts: Iterable[str]) -> set[int]:
    """Ports of the addresses that stand in ``texts``."""
    found = set()
    for each in (urlsplit(part) for text in texts for part in _ADDRESS.findall(text)):
        try:
            found.add(each.port or _PORTS[each.scheme])
        except ValueError:
            continue  # no port that exists: whoever reads the address refuses it
    return found


def _entry(config: ClusterConfig, route: RouteConfig | None, asked: tuple[Port, ...]) -> list[Flow]:
    """Where requests from outside come from; everybody for a load balancer, and where the controller's place is not known."""
    stated, known = peers(config.network.gateways), ""
    if route is None:
        # A route that somebody else made may lead here.
        return [Flow(peers=stated, ports=asked, source="network.gateways")] if stated else []
    if route.kind is RouteKind.HTTPROUTE:
        known = route.gateway_namespace or config.namespace
    elif route.kind is RouteKind.INGRESS:
        known = controller_namespace(route.ingress_class)
    source = "network.gateways" if stated else "route"
    if route.kind is RouteKind.LOAD_BALANCER or not (stated or known):
        return [Flow(peers=(), ports=asked, source=source)]
    return [Flow(peers=stated or (Peer(namespace=known),), ports=asked, source=source)]


def _split(config: ClusterConfig, server: ServerConfig, asked: tuple[Port, ...]) -> list[Flow]:
    """Where requests come from that the routes of other servers give to this one."""
    return [flow for at in split_of(config, server.name) for flow in _entry(config, config.servers[at].route, asked)]


def _prometheus(config: ClusterConfig) -> Peer:
    parts = (urlsplit(config.monitoring.prometheus.url).hostname or "").split(".")
    return Peer(namespace=parts[1] if len(parts) == 2 or parts[2:3] == ["svc"] else MONITORING)


def _called(ports: Iterable[int], source: str) -> list[Flow]:
    made = tuple(Port(number=each) for each in sorted(set(ports)))
    return [Flow(peers=(), ports=made, source=source)] if made else []


def _proxy(config: ClusterConfig) -> list[str]:
    return [config.conventions.proxy.url] if config.conventions.proxy else []


def _stated(config: ClusterConfig) -> list[Flow]:
    found = peers(config.network.egress)
    return [Flow(peers=found, ports=(), source="network.egress")] if found else []
