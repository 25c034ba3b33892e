"""Stack outputs: a versioned contract for other teams. Names of Secrets, never their content."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.bundles import external_url, internal_url, secrets_of
from interlock.infra.plan.types import ClusterPlan, PlannedServer


class Output(BaseModel):
    """Base of the contract's models."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Limits(Output):
    """What a client may ask for."""

    max_model_len: int | None
    """Longest request in tokens, prompt and answer; null = the model's own limit."""
    max_num_seqs: int | None
    """Requests in one step; null = vLLM's default."""
    longest_answer_seconds: int
    """Seconds after which an answer may be cut."""


class ServerOutput(Output):
    """One model behind one URL."""

    name: str
    """Name of the server."""
    model: str
    """What clients send as ``model``."""
    model_id: str
    """Id of the model."""
    url: str
    """Base URL inside the cluster, ending in /v1."""
    external_url: str | None
    """Base URL from outside; null without a route."""
    pool: str
    """Pool it runs on."""
    gpus: int
    """GPUs (or shares) of one replica."""
    min_replicas: int
    """Minimum number of replicas."""
    max_replicas: int
    """Maximum number of replicas."""
    limits: Limits
    """What a client may ask for."""
    secrets: dict[str, str]
    """Names of Secrets by use; never their content."""


class PoolOutput(Output):
    """One pool and what is left of it."""

    name: str
    """Name of the pool."""
    gpu: str
    """GPU of its nodes."""
    resource: str
    """Extended resource to ask for."""
    units: int
    """Units of the resource."""
    free: int
    """Units that no server of this stack asks for."""


class StackOutputs(Output):
    """The output ``interlock`` of a stack."""

    version: Literal[1] = 1
    """Version of this contract."""
    stack: str
    """Name of the stack."""
    scope: str
    """platform, serving or all."""
    namespace: str
    """Namespace of the servers."""
    cluster_uid: str
    """UID of the cluster's kube-system namespace."""
    servers: dict[str, ServerOutput]
    """Servers by name."""
    pools: dict[str, PoolOutput]
    """Pools by name."""


def stack_outputs(config: ClusterConfig, plan: ClusterPlan, uid: str) -> StackOutputs:
    """The contract's values for ``plan``."""
    pools = {
        pool.name: PoolOutput(name=pool.name, gpu=pool.gpu, resource=pool.resource, units=pool.units, free=pool.units - pool.asked)
        for pool in plan.pools
    }
    servers = {server.name: _server(config, server) for server in plan.servers}
    return StackOutputs(stack=plan.stack, scope=plan.scope, namespace=plan.namespace, cluster_uid=uid, servers=servers, pools=pools)


def _server(config: ClusterConfig, server: PlannedServer) -> ServerOutput:
    written = config.servers[server.index]
    engine = server.args.engine
    return ServerOutput(
        name=server.name,
        model=server.args.served_model_name,
        model_id=server.model_id,
        url=internal_url(server),
        external_url=external_url(written.route),
        pool=server.pool,
        gpus=server.gpus,
        min_replicas=server.replicas,
        max_replicas=server.max_replicas,
        limits=Limits(
            max_model_len=engine.length,
            max_num_seqs=engine.max_num_seqs,
            longest_answer_seconds=server.times.longest_answer,
        ),
        secrets=secrets_of(server),
    )
