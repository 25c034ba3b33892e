"""Weights that a daemon keeps on the cards between two starts of an engine: whether the engine can reach it."""

import re
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Container, Place, Pod, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.cache import mount_of
from interlock.infra.rules.reading.relations import member
from interlock.infra.rules.reading.units import engine_containers, where
from interlock.infra.rules.rule import Hit, Settings, rule

_FORMAT, _EXTRA = "ipc_cache", "model-loader-extra-config"
_PRELOAD = re.compile(r"\bvllm\s+preload\b")
# weight_cache/protocol.py get_socket_dir: a folder of the user's own below the system's temporary one.
_DEFAULT = "/tmp"


@rule(
    "STO-012",
    Severity.WARNING,
    demand="An engine that loads from a daemon on its node can reach one.",
    reason="Without it the weights come from the disk at each start with one line of warning, or the engine stops where fallback is off.",
    source="vllm/model_executor/model_loader/weight_cache/ipc_loader.py and protocol.py of 0.30 to 0.33 (fallback, get_socket_dir)",
    remedy="Run vllm preload beside the engine and share its socket, or load from the disk.",
    fault="weight-cache-out-of-reach",
    links=("https://docs.vllm.ai/en/latest/cli/",),
)
def reaches_the_daemon(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    chosen = workload.engine.flag("load-format")
    if chosen.value != _FORMAT:
        return
    folder = _folder(workload)
    for pod, container in engine_containers(workload) if folder else ():
        daemon = next((each for each in pod.containers if _preloads(each)), None)
        if pod.open or any(not each.command.known and not each.command.absent for each in pod.containers) or daemon is container:
            continue
        if daemon is not None:
            if _shared(container, daemon, folder):
                continue
            told = f"{daemon.name} keeps its socket in a {folder} of its own: containers share a folder only where both mount one volume"
            remedy = f"mount one emptyDir at {folder} in both"
        elif _of_the_node(pod, container, folder):
            continue
        else:
            told = f"no container of the pod runs vllm preload, and {folder}, where the engine looks for its socket, lies in the pod itself"
            remedy = "run vllm preload in the pod or on the node, with the folder of its socket mounted, or load from the disk"
        falls = member(workload, _EXTRA, ["fallback"]).default(True)
        effect = "the engine stops at its start" if falls.value is False else "every start loads from the disk"
        level = Severity.ERROR if falls.value is False and official(workload) and workload.engine.complete else Severity.WARNING
        yield Hit(where(workload, Place.ARGS, chosen), f"--load-format {_FORMAT}: {told}: {effect}", remedy, _FORMAT, severity=level)


def _folder(workload: Workload) -> str:
    """The folder of the daemon's socket; empty where it cannot be read."""
    socket, folder = (member(workload, _EXTRA, [key]) for key in ("socket_path", "socket_dir"))
    if socket.known and isinstance(socket.value, str):
        return str(socket.value).rpartition("/")[0] or "/"
    if folder.known and isinstance(folder.value, str):
        return str(folder.value)
    return _DEFAULT if socket.absent and folder.absent else ""


def _preloads(container: Container) -> bool:
    words = [*(container.command.value or ()), *(container.args.value or ())]
    return _PRELOAD.search(" ".join(words)) is not None


def _shared(engine: Container, daemon: Container, folder: str) -> bool:
    one, other = mount_of(engine, folder), mount_of(daemon, folder)
    return one is not None and other is not None and (one.volume, one.sub_path) == (other.volume, other.sub_path)


def _of_the_node(pod: Pod, container: Container, folder: str) -> bool:
    """Whether the folder comes from outside of the pod, where a daemon may run."""
    mount = mount_of(container, folder)
    kinds = {volume.name: volume.kind for volume in pod.volumes}
    return mount is not None and kinds.get(mount.volume, "") not in ("emptyDir", "configMap", "secret")
