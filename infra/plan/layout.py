"""The pods of one replica: one, or a leader and its workers on nodes of their own."""

from dataclasses import dataclass

from interlock.infra.config.pools import PoolConfig, Sharing
from interlock.infra.config.ray import Serve
from interlock.infra.config.servers import Balance, ServerConfig
from interlock.infra.engine.args import EngineArgs, Group
from interlock.infra.plan.pools import shares_per_card
from interlock.infra.plan.reasons import SET, Reason
from interlock.infra.plan.types import PlannedPods, PodRole
from interlock.infra.values import plural


@dataclass(frozen=True, slots=True)
class Layout:
    """How a replica lies on nodes."""

    pods: tuple[PlannedPods, ...]
    why: Reason
    """Why it is spread so."""

    @property
    def nodes(self) -> int:
        """Pods of one replica, each meant for a node of its own."""
        return sum(each.count for each in self.pods)

    @property
    def units(self) -> int:
        """GPUs of one pod."""
        return self.pods[0].gpus

    def ranks(self, engine: EngineArgs) -> int:
        """Ranks of the engine in one pod."""
        return -(-engine.gpus // self.nodes)


def nodes_for(server: ServerConfig, pool: PoolConfig, gpus: int) -> int:
    """Pods of a replica of ``gpus``: what the config states, else as few as hold them evenly. Cards that are shared are never spread."""
    per_node = pool.gpus_per_node * shares_per_card(pool)
    if server.nodes is not None:
        return server.nodes
    if gpus <= per_node or pool.share.kind is not Sharing.EXCLUSIVE:
        return 1
    nodes = -(-gpus // per_node)
    return nodes if gpus % nodes == 0 else 1


def layout(server: ServerConfig, pool: PoolConfig, gpus: int) -> Layout:
    """The pods of one replica of ``gpus``."""
    nodes, per_node = nodes_for(server, pool, gpus), pool.gpus_per_node * shares_per_card(pool)
    if nodes == 1:
        alone = Reason(value="1 pod", reason=f"{plural(gpus, 'GPU')} of {per_node} on a node")
        return Layout((PlannedPods(role=PodRole.SERVER, count=1, gpus=gpus),), alone)
    each = max(gpus // nodes, 1)
    pods = (PlannedPods(role=PodRole.LEADER, count=1, gpus=each), PlannedPods(role=PodRole.WORKER, count=nodes - 1, gpus=each))
    told = SET if server.nodes else f"a node of pool {pool.name} has {per_node}"
    way = "a LeaderWorkerSet with vLLM's own executor over nodes"
    if server.serve is Serve.RAY:
        way = "the hosts of one replica in its worker group (numOfHosts)"
    return Layout(pods, Reason(value=f"{nodes} pods x {plural(each, 'GPU')} = {nodes * each}", reason=f"{told}; {way}"))


def group_of(server: ServerConfig, engine: EngineArgs, nodes: int) -> Group | None:
    """What the engines of a replica of several pods are told about each other."""
    if nodes == 1 or server.serve is Serve.RAY:
        return None
    local = max(engine.dp // nodes, 1)
    return Group(nodes=nodes, local=local if server.balance is Balance.NODES and engine.dp > 1 else None)
