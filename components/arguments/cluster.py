"""Cluster-wide parts, tenants, network, monitoring, waivers, as the config has them. Written by `python -m tools.component_arguments`."""

from typing import NotRequired, TypedDict

import pulumi

from interlock.infra.config.monitoring import PrometheusAuth, ScrapeKind
from interlock.infra.config.platform import GpuLayerKind, MigBy
from interlock.infra.config.tenants import PodSecurity


class GpuLayerSettings(TypedDict):
    """The GPU layer: there already (GPU operator, a cloud's own plugin), or NVIDIA's device plugin by this stack."""

    kind: NotRequired[GpuLayerKind]
    """installed or device-plugin."""
    namespace: NotRequired[str]
    """Namespace of the device plugin; omit for gpu-system with one of ours. Into the namespace of an installed one, MIG layouts are put
    only when it is named."""
    config_map: NotRequired[str]
    """For installed: ConfigMap with the plugin's configs by name; shared and MIG pools are checked against its keys."""
    image: NotRequired[str]
    """Another image of the device plugin, with tag and digest; omit for the pinned one."""
    pull_secrets: NotRequired[list[pulumi.Input[str]]]
    """Names of existing pull Secrets in that namespace."""
    cdi: NotRequired[bool]
    """Hand devices over by the Container Device Interface (containerd and CRI-O of the last years); false = environment variable."""
    driver_root: NotRequired[str]
    """Where the driver is installed on the nodes; ``/run/nvidia/driver`` for a driver container."""
    runtime_class: NotRequired[str]
    """RuntimeClass that this stack makes with the device plugin."""
    mig: NotRequired[MigBy]
    """Who cuts the cards of MIG pools beside our device plugin: manager (NVIDIA's MIG manager is there, its ``CONFIG_FILE`` is the
    ConfigMap ``<stack>-mig-parted``) or prepared (they are cut already)."""
    discovery: NotRequired[bool]
    """Whether GPU feature discovery runs beside our device plugin, so that nodes carry labels such as ``nvidia.com/gpu.product``."""


class PriorityClassSettings(TypedDict):
    """One PriorityClass; its name in the cluster is ``<stack>-<name>``."""

    name: str
    """Name, as servers refer to it."""
    value: int
    """Higher goes first; 1,000,000,000 is the most that Kubernetes allows to users."""
    preempts: NotRequired[bool]
    """Whether its pods may evict pods of lower value."""
    description: NotRequired[str]
    """For people."""


class TenantSettings(TypedDict):
    """One tenant: its namespace, a ResourceQuota and a LimitRange."""

    name: NotRequired[str]
    """Name of the tenant and of its namespace."""
    gpus: NotRequired[dict[str, int]]
    """Units of GPU by pool name (shares on a shared pool, instances on a MIG pool); a pool that is not named gives none."""
    cpu: NotRequired[str]
    """Sum of CPU requests."""
    memory: NotRequired[str]
    """Sum of memory requests and of memory limits."""
    storage: NotRequired[str]
    """Sum of storage requests of its claims."""
    pods: NotRequired[int]
    """Maximum number of pods."""
    default_cpu: NotRequired[str]
    """CPU request of a container that states none."""
    default_memory: NotRequired[str]
    """Memory request and limit of a container that states none."""
    gpus_per_container: NotRequired[int]
    """Maximum units of each GPU resource in one container; omit for 1 where the tenant uses shared cards only, else no limit."""
    pod_security: NotRequired[PodSecurity]
    """Pod Security level of the namespace."""


class PeerSettings(TypedDict):
    """Pods by their namespace and labels, or addresses outside the cluster."""

    namespace: NotRequired[str]
    """Namespace of the pods; omit for the stack's own."""
    pods: NotRequired[dict[str, str]]
    """Labels of the pods; omit for all pods of the namespace."""
    cidr: NotRequired[str]
    """Addresses outside the cluster, such as the network of a cloud's load balancers."""


class NetworkSettings(TypedDict):
    """A NetworkPolicy for each server and each store that Jobs fill: whoever is not planned here reaches no engine."""

    policies: NotRequired[bool]
    """Make the policies; false = whoever reaches a pod's address may ask it. The cluster's network plugin must enforce them."""
    gateways: NotRequired[list[PeerSettings]]
    """Where requests through a route come from; omit for the namespace of the Gateway, or that of the Ingress class's controller."""
    clients: NotRequired[list[PeerSettings]]
    """Who asks engines inside the cluster; omit for all pods of the stack's namespace."""
    monitoring: NotRequired[list[PeerSettings]]
    """Who reads /metrics; omit for the namespace in ``monitoring.prometheus.url``, else ``monitoring``."""
    egress: NotRequired[list[PeerSettings]]
    """Whom engines and Jobs may call beyond what the plan knows: DNS, the other pods of a replica or pair, the hub where a pod loads from
    it, and the ports of the URLs in their arguments and environment."""


class PrometheusSettings(TypedDict):
    """The Prometheus (or what answers as one) that autoscalers ask."""

    url: NotRequired[pulumi.Input[str]]
    """Its address as seen from the cluster."""
    auth: NotRequired[PrometheusAuth]
    """bearer, basic or tls; omit where it asks for nothing."""
    secret: NotRequired[pulumi.Input[str]]
    """Existing Secret in the stack's namespace with the keys of auth: token; username and password; or tls.crt and tls.key."""
    ca_secret: NotRequired[pulumi.Input[str]]
    """Existing Secret whose key ``ca.crt`` is the authority of its certificate; omit for one that the system trusts."""
    headers: NotRequired[dict[str, str]]
    """Headers of each query, such as ``X-Scope-OrgID`` of Mimir, Thanos or Loki."""


class MonitoringSettings(TypedDict):
    """Who reads the engines' metrics. They are answered without a key, on the port of the requests; routes do not show them."""

    scrape: NotRequired[ScrapeKind]
    """pod-monitor or service-monitor (objects of prometheus-operator), annotations (``prometheus.io/*`` on the pods), or none (somebody
    else's configuration scrapes them); omit for pod-monitor where a server is autoscaled, else none."""
    labels: NotRequired[dict[str, str]]
    """Labels by which your Prometheus selects monitors, such as ``release: kube-prometheus-stack``."""
    interval_seconds: NotRequired[int]
    """Seconds between two scrapes."""
    prometheus: NotRequired[PrometheusSettings]
    """The Prometheus that autoscalers ask."""


class WaiverSettings(TypedDict):
    """A finding accepted by a person."""

    code: str
    """Code of the finding."""
    path: NotRequired[str]
    """Field or object it covers; ``*`` matches any run of characters."""
    reason: str
    """Why it is accepted."""
    expires: NotRequired[str]
    """Last day it holds."""
