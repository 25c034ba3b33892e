"""Workload facts: what rules read. Plans, Pulumi properties and anybody's YAML become these; a rule never sees a manifest."""

from interlock.infra.facts.bundle import (
    PARTLY,
    Autoscaler,
    Budget,
    Bundle,
    Claim,
    DiskVolume,
    Drain,
    Namespace,
    NotJudged,
    Pool,
    Quota,
    Route,
    Router,
    SecretObject,
    Service,
    StorageClass,
)
from interlock.infra.facts.devices import Device, DeviceClass, DevicePlugin
from interlock.infra.facts.document import DocumentProblem
from interlock.infra.facts.fact import Fact, State, absent, known, unknown
from interlock.infra.facts.limits import LimitRange
from interlock.infra.facts.monitoring import Query, Scrape
from interlock.infra.facts.nodes import SharingConfig
from interlock.infra.facts.origin import Origin, Place
from interlock.infra.facts.pickers import EndpointPool, Objective, RouterProgram
from interlock.infra.facts.probe import Probe
from interlock.infra.facts.ray import RayFacts, ServeDeployment
from interlock.infra.facts.supervisor import Supervisor
from interlock.infra.facts.workload import (
    FACTS_VERSION,
    ArgProblem,
    Container,
    Engine,
    Flag,
    Mount,
    Pod,
    Role,
    Rollout,
    Volume,
    Workload,
)

__all__ = [
    "FACTS_VERSION",
    "PARTLY",
    "ArgProblem",
    "Autoscaler",
    "Budget",
    "Bundle",
    "Claim",
    "Container",
    "Device",
    "DeviceClass",
    "DevicePlugin",
    "DiskVolume",
    "DocumentProblem",
    "Drain",
    "EndpointPool",
    "Engine",
    "Fact",
    "Flag",
    "LimitRange",
    "Mount",
    "Namespace",
    "NotJudged",
    "Objective",
    "Origin",
    "Place",
    "Pod",
    "Pool",
    "Probe",
    "Query",
    "Quota",
    "RayFacts",
    "Role",
    "Rollout",
    "Route",
    "Router",
    "RouterProgram",
    "Scrape",
    "SecretObject",
    "ServeDeployment",
    "Service",
    "SharingConfig",
    "State",
    "StorageClass",
    "Supervisor",
    "Volume",
    "Workload",
    "absent",
    "known",
    "unknown",
]
