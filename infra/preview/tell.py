"""Which config field a manifest field came from, so that findings name what a person wrote."""

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.manifests.common import Manifest
from interlock.infra.naming import label
from interlock.infra.plan.types import ClusterPlan, PlannedServer
from interlock.infra.rules.findings import Finding, Subject

POD = "spec.template.spec."
CONTAINER = POD + "containers[0]."

# Fields of a Deployment to fields of a server, longest prefix first when matched.
_DEPLOYMENT = {
    "spec.replicas": "replicas",
    "spec.progressDeadlineSeconds": "startup_seconds",
    "spec.strategy": "rollout.strategy",
    "spec.template.metadata.annotations": "extra.annotations",
    POD + "nodeSelector": "pool",
    POD + "tolerations": "extra.tolerations",
    POD + "terminationGracePeriodSeconds": "rollout.drain_seconds",
    POD + "priorityClassName": "priority_class",
    POD + "volumes[0]": "shm",
    CONTAINER + "image": "image",
    CONTAINER + "startupProbe": "startup_seconds",
    CONTAINER + "lifecycle": "rollout.drain_seconds",
    CONTAINER + "resources.requests.cpu": "cpu",
    CONTAINER + "resources.requests.memory": "memory",
    CONTAINER + "resources.limits.memory": "memory",
    CONTAINER + "volumeMounts[0]": "shm",
}
_OTHERS = {
    "HTTPRoute": {"": "route", "spec.rules[0].timeouts": "route.timeout_seconds"},
    "Ingress": {"": "route", "metadata.annotations": "route.timeout_seconds"},
    "ScaledObject": {"": "autoscale", "spec.maxReplicaCount": "autoscale.max_replicas"},
    "HorizontalPodAutoscaler": {"": "autoscale", "spec.maxReplicas": "autoscale.max_replicas", "spec.metrics": "autoscale.metric"},
    "PodDisruptionBudget": {"": "replicas"},
}


def config_paths(server: PlannedServer, kind: str) -> dict[str, str]:
    """Prefixes of manifest paths to config paths, for one object of ``server``."""
    base = f"servers[{server.index}]"
    if kind != "Deployment":
        return {prefix: f"{base}.{field}" for prefix, field in _OTHERS.get(kind, {}).items()} or {"": base}
    paths = {"": base} | {prefix: f"{base}.{field}" for prefix, field in _DEPLOYMENT.items()}
    for place in ("requests", "limits"):
        paths[f'{CONTAINER}resources.{place}["{server.resource}"]'] = f"{base}.gpus"
    paths |= {f"{CONTAINER}args[{index}]": f"{base}.{field}" for index, field in _arguments(server)}
    return paths


def _arguments(server: PlannedServer) -> Iterator[tuple[int, str]]:
    """(index in args, config field) of every argument."""
    argv, field = server.args.to_argv(), "model.id"
    own = len(argv) - len(server.args.extra)
    names = {name.replace("_", "-"): f"engine.{name}" for name in EngineArgs.model_fields}
    names |= {"served-model-name": "served_name", "revision": "model.revision", "shutdown-timeout": "rollout.drain_seconds"}
    for index, text in enumerate(argv):
        if index >= own:
            yield index, f"extra.args[{index - own}]"
            continue
        if text.startswith("--"):
            field = names.get(text.removeprefix("--").removeprefix("no-"), "engine")
        yield index, field


def environment_paths(server: PlannedServer, deployment: Manifest) -> dict[str, str]:
    """The same for environment entries, which a manifest lists by position."""
    base = f"servers[{server.index}]"
    entries = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    extra = server.config.extra.env
    return {
        f"{CONTAINER}env[{index}]": f"{base}.extra.env.{entry['name']}" for index, entry in enumerate(entries) if entry["name"] in extra
    }


# The label that names an object's owner, what the owner is called, and its list in the config; the first that fits counts.
_OWNERS = (("server", "Server", "servers"), ("store", "Store", "stores"), ("tenant", "Tenant", "tenants"), ("pool", "Pool", "pools"))


class Provenance:
    """Translates findings about our own objects into findings about the config."""

    def __init__(self, config: ClusterConfig, plan: ClusterPlan, objects: list[Manifest], source: str) -> None:
        self._source = source
        self._servers = {server.name: server for server in plan.servers}
        self._places = {each: {item.name: index for index, item in enumerate(getattr(config, each))} for _, _, each in _OWNERS}
        self._tables: dict[tuple[str, str], tuple[str, str, Mapping[str, str]]] = {}
        for made in objects:
            for key, kind, field in _OWNERS:
                owner = made["metadata"].get("labels", {}).get(label(key))
                if owner in self._places[field]:
                    self._tables[made["kind"], made["metadata"]["name"]] = (kind, owner, self._table(made, field, owner))
                    break

    def _table(self, made: Manifest, field: str, owner: str) -> dict[str, str]:
        if field != "servers":
            return {"": f"{field}[{self._places[field][owner]}]"}
        server = self._servers[owner]
        paths = config_paths(server, made["kind"])
        return paths | environment_paths(server, made) if made["kind"] == "Deployment" else paths

    def translate(self, finding: Finding) -> Finding:
        """The finding with the config's field and the owner's name in place of the object's."""
        kind, owner, table = self._tables.get((finding.subject.kind, finding.subject.name), ("", "", {}))
        if not owner:
            return finding.model_copy(update={"subject": finding.subject.model_copy(update={"file": self._source})})
        subject = Subject(kind=kind, name=owner, namespace=finding.subject.namespace, file=self._source)
        return finding.model_copy(update={"subject": subject, "path": self._path(finding.path, table)})

    @staticmethod
    def _path(path: str, table: Mapping[str, Any]) -> str:
        if path.startswith(tuple(f"{field}[" for _, _, field in _OWNERS)):
            return path
        prefix = max((key for key in table if path.startswith(key)), key=len)
        return str(table[prefix])
