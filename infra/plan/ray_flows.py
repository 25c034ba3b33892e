"""Which traffic the pods of a Ray cluster need: each other, whom its models ask and are asked by, and the state that is kept outside."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.ray import RayServiceConfig
from interlock.infra.naming import label
from interlock.infra.plan.peers import Flow, Peer, PlannedFlows, Port
from interlock.infra.plan.types import PlannedServer

METRICS = 8080
"""Port of Ray's own metrics, those of the engines among them (KubeRay's default)."""
API = (443, 6443)
"""Ports of the API server, which the head's autoscaler asks."""
_OF_ONE_REPLICA = frozenset({"nodes", "transfer"})


def ray_flows(config: ClusterConfig, stack: str, stated: RayServiceConfig, servers: Sequence[PlannedServer]) -> PlannedFlows | None:
    """The traffic of all pods of a RayService; None where the config wants no policies."""
    if not config.network.policies:
        return None
    own = Peer(pods={label("stack"): stack, label("ray"): stated.name})
    inside = Flow(peers=(own,), ports=(), source=f"servers[{servers[0].index}].serve")
    into = [flow for each in servers if each.flows for flow in _of(each, each.flows.into)]
    out = [flow for each in servers if each.flows for flow in _of(each, each.flows.out)]
    if stated.redis:
        port = urlsplit(stated.redis.address if "://" in stated.redis.address else f"redis://{stated.redis.address}").port or 0
        place = next(at for at, each in enumerate(config.ray_services) if each.name == stated.name)
        out.append(Flow(peers=(), ports=(Port(number=port),), source=f"ray_services[{place}].redis"))
    scaled = next((each for each in servers if each.config.autoscale), None)
    if scaled:
        out.append(Flow(peers=(), ports=tuple(Port(number=each) for each in API), source=f"servers[{scaled.index}].autoscale"))
    return PlannedFlows(into=(inside, *_once(into)), out=(inside, *_once(out)))


def _of(server: PlannedServer, flows: Sequence[Flow]) -> Iterator[Flow]:
    """A server's own flows, by their absolute fields; metrics are Ray's."""
    for flow in flows:
        if flow.source in _OF_ONE_REPLICA:
            continue
        ports = (Port(number=METRICS),) if flow.source == "network.monitoring" else flow.ports
        source = flow.source if flow.source.startswith("network") else f"servers[{server.index}].{flow.source}"
        yield flow.model_copy(update={"ports": ports, "source": source})


def _once(flows: Sequence[Flow]) -> list[Flow]:
    """Flows of several servers that are the same, once."""
    return list({flow.model_dump_json(exclude={"source"}): flow for flow in reversed(flows)}.values())[::-1]
