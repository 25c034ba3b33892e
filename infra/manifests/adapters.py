"""The list of a server's adapters, where they come and go while it runs: a ConfigMap that the engine's pods mount.

It changes under them and nothing restarts, so its name is fixed and it is not immutable.
"""

from typing import Any

from interlock.infra.config.adapters import AdaptersConfig
from interlock.infra.manifests.common import Manifest, server_manifest
from interlock.infra.manifests.placed import Encoded, put
from interlock.infra.naming import joined
from interlock.infra.plan.types import ClusterPlan, PlannedServer

FOLDER = "/etc/interlock/adapters"
VOLUME = "adapters"
LIST = "adapters.json"


def adapters_map(plan: ClusterPlan, server: PlannedServer, adapters: AdaptersConfig) -> Manifest:
    """The ConfigMap: path by name."""
    paths = {each.name: put(each.path, f"adapters.modules[{at}].path") for at, each in enumerate(adapters.modules)}
    made = server_manifest(plan, server, "v1", "ConfigMap", data={LIST: Encoded(paths)})
    return {**made, "metadata": {**made["metadata"], "name": put(adapters_name(server), "name")}}


def adapters_name(server: PlannedServer) -> str:
    """Name of the ConfigMap."""
    return joined(server.name, "adapters")


def adapters_volume(server: PlannedServer) -> Any:
    """The list as a volume."""
    return put({"name": VOLUME, "configMap": {"name": adapters_name(server)}}, "adapters.hot")


def adapters_mount() -> Any:
    """Where the engine has it."""
    return put({"name": VOLUME, "mountPath": FOLDER, "readOnly": True}, "adapters.hot")
