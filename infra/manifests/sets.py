"""What one family of objects is: the objects in the order in which they must exist, and what others need to know of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from interlock.infra.config.stores import Keep
from interlock.infra.manifests.node_pools import PoolIntent
from interlock.infra.manifests.placed import Draft, Manifest
from interlock.infra.manifests.prefetch import DEADLINE
from interlock.infra.manifests.runtime import part_of


@dataclass(frozen=True, slots=True)
class ObjectSet:
    """Objects of one family in the order in which they must exist."""

    drafts: tuple[Draft, ...]
    """The objects with the sources of their values."""

    @property
    def manifests(self) -> list[Manifest]:
        """The objects."""
        return [draft.manifest for draft in self.drafts]


AnySet = TypeVar("AnySet", bound=ObjectSet)


@dataclass(frozen=True, slots=True)
class PriorityObjects(ObjectSet):
    """Priority classes, lowest first."""

    names: dict[str, str] = field(default_factory=dict)
    """Name in the cluster by the name in the config."""


@dataclass(frozen=True, slots=True)
class GpuLayerObjects(ObjectSet):
    """The GPU layer; without objects when it is installed already."""

    check: str = ""
    """``namespace/name`` of the ConfigMap of an installed layer that must have the classes as keys; empty = nothing to look at."""
    classes: dict[str, str] = field(default_factory=dict)
    """Class of plugin config by pool, for pools that share their cards."""
    namespace: str = ""
    """Namespace of the layer."""
    runtime_class: str = ""
    """RuntimeClass by which pods get the driver's libraries."""


@dataclass(frozen=True, slots=True)
class NodePoolObjects(ObjectSet):
    """One pool: partial Nodes to apply onto existing ones, or a NodePool."""

    name: str
    """Name of the pool."""
    intent: PoolIntent | None = None
    """For the managed backend: what the cloud's pool must make true."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels that every node carries."""
    taints: tuple[str, ...] = ()
    """Keys of NoSchedule taints with the value ``present`` on every node."""
    resource: str = ""
    """Extended resource that pods ask for; empty where GPUs come by claims."""
    units: int = 0
    """Units of it on all nodes."""


@dataclass(frozen=True, slots=True)
class TenantObjects(ObjectSet):
    """One tenant: namespace, quota and limits."""

    name: str
    """Name of the tenant."""


@dataclass(frozen=True, slots=True)
class WorkspaceObjects(ObjectSet):
    """The namespace, when this stack makes it, and what must exist in it before any store."""

    name: str
    """Name of the namespace."""
    keep: Keep
    """What a destroy does with the namespace: no less than with the claims in it, which would go with it."""

    @property
    def namespace(self) -> Manifest | None:
        """The Namespace; None when somebody else makes it."""
        return next((made for made in self.manifests if made["kind"] == "Namespace"), None)


@dataclass(frozen=True, slots=True)
class StoreObjects(ObjectSet):
    """One store: StorageClass, volumes and claim, then the Jobs that fill it; servers start when they are done."""

    name: str
    """Name of the store."""
    keep: Keep
    """What a destroy does with the volumes."""
    namespace: str = ""
    """Namespace of its claim and Jobs."""
    claim: str = ""
    """Claim that pods mount; empty for kinds without one."""
    job_timeout: int = DEADLINE
    """Seconds that Pulumi waits for a Job."""

    @property
    def volumes(self) -> list[Manifest]:
        """All but the Jobs and the runtime."""
        return [made for made in self.manifests if made["kind"] != "Job" and not part_of(made)]

    @property
    def jobs(self) -> list[Manifest]:
        """The Jobs."""
        return [made for made in self.manifests if made["kind"] == "Job"]


@dataclass(frozen=True, slots=True)
class ServerObjects(ObjectSet):
    """The objects of one server and how they are awaited."""

    name: str
    """Name of the server."""
    needs: tuple[str, ...]
    """Stores that must be filled before it starts."""
    update_timeout: int
    """Seconds that Pulumi waits for the Deployment."""
    delete_timeout: int
    """Seconds that Pulumi waits for its deletion."""
    url: str
    """Base URL inside the cluster."""
    external_url: str
    """Base URL from outside; empty without a route."""
    namespace: str
    """Its namespace."""
    model: str
    """What clients send as ``model``."""
    gpus: int
    """GPUs (or shares) of one replica."""
    port: int
    """Port of its pods, which answers /metrics too."""
    selector: dict[str, str]
    """Labels of the pods that take its requests, and of no others."""
    secrets: dict[str, str]
    """Names of Secrets by use."""
    after: tuple[str, ...] = ()
    """Servers that must be ready first: its route gives requests to them."""
    first_replicas: int = 0
    """Replicas with which an autoscaled workload is made, and which are the scaler's after that; 0 = its own object states them."""

    @property
    def workload(self) -> list[Manifest]:
        """All but the runtime."""
        return [made for made in self.manifests if not part_of(made)]

    @staticmethod
    def logical_name(component: str, manifest: Manifest) -> str:
        """Logical name of a child: unique in the stack, stable when the object's content (and so its hash) changes."""
        return f"{component}-{manifest['kind'].lower()}"


@dataclass(frozen=True, slots=True)
class RayObjects(ObjectSet):
    """One RayService: network policies, the RayService, disruption budgets, and the routes of its servers."""

    name: str
    """Name of the RayService and of the Service that takes requests."""
    namespace: str
    """Its namespace."""
    url: str
    """Base URL inside the cluster."""
    models: dict[str, str]
    """What clients send as ``model``, by server."""
    gpus: int
    """GPUs of all workers, autoscaled ones at their most."""
    needs: tuple[str, ...]
    """Stores that must be filled before it starts."""
    token: str
    """Secret whose key ``auth_token`` opens the cluster."""
    secret: Manifest | None
    """The same Secret without its content, where the stack draws the token; None for one that is there."""
    recreate: bool
    """Whether a change replaces the whole object."""
    update_timeout: int
    """Seconds that Pulumi waits for its models."""
    delete_timeout: int
    """Seconds that Pulumi waits for its deletion."""


@dataclass(frozen=True, slots=True)
class RouteObjects(ObjectSet):
    """A route in front of servers that somebody else made."""

    name: str
    """Name of the route."""
    urls: tuple[str, ...]
    """Base URL of each backend."""


@dataclass(frozen=True, slots=True)
class ScalerObjects(ObjectSet):
    """An autoscaler of a server that somebody else made."""

    name: str
    """Name of the autoscaler."""
    min_replicas: int
    """Minimum number of replicas."""
    max_replicas: int
    """Maximum number of replicas."""


@dataclass(frozen=True, slots=True)
class StackObjects:
    """Everything that a stack makes, in the order in which it must exist. Render and program both go through it."""

    priorities: PriorityObjects
    gpu_layer: GpuLayerObjects
    pools: tuple[NodePoolObjects, ...]
    tenants: tuple[TenantObjects, ...]
    workspace: WorkspaceObjects | None
    """None for a platform stack."""
    stores: tuple[StoreObjects, ...]
    servers: tuple[ServerObjects, ...]
    rays: tuple[RayObjects, ...] = ()

    def sets(self) -> Iterator[ObjectSet]:
        """The families in order."""
        yield from (self.priorities, self.gpu_layer, *self.pools, *self.tenants)
        yield from () if self.workspace is None else (self.workspace,)
        yield from (*self.stores, *self.rays, *self.servers)

    def changed(self, change: Callable[[Draft], Draft]) -> "StackObjects":
        """The same families, each object changed."""

        def made(each: AnySet) -> AnySet:
            return replace(each, drafts=tuple(map(change, each.drafts)))

        return StackObjects(
            priorities=made(self.priorities),
            gpu_layer=made(self.gpu_layer),
            pools=tuple(map(made, self.pools)),
            tenants=tuple(map(made, self.tenants)),
            workspace=made(self.workspace) if self.workspace else None,
            stores=tuple(map(made, self.stores)),
            servers=tuple(map(made, self.servers)),
            rays=tuple(map(made, self.rays)),
        )

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """All objects with the sources of their values."""
        return tuple(draft for each in self.sets() for draft in each.drafts)
