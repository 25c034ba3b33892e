"""The supervisor around an engine: its command and settings, the liveness probe, and the preflight that runs before."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from interlock.infra.catalog.tracks import tracks
from interlock.infra.config.pools import Allocation, Sharing
from interlock.infra.config.runtime import LogForm
from interlock.infra.facts.supervisor import SETTINGS
from interlock.infra.manifests.placed import Encoded, bare, merged, put, replaced
from interlock.infra.manifests.runtime import ARCHIVE_PATH, command
from interlock.infra.plan.stores import WEIGHTS_DIR
from interlock.infra.plan.types import PlannedPods, PlannedPool, PlannedServer
from interlock.infra.values import MIB, bytes_of

PREFLIGHT = "preflight"
SETTLE = 2
"""Seconds that a drain lasts at least, where it may."""
PROBE_SECONDS = 10
"""Period of the liveness probe, and what one call may take: a busy machine starts a Python slowly."""
PROBE_GRACE = 15
"""Seconds that an engine gets which the liveness probe ends, after preStop: the kubelet runs preStop inside the probe's own grace, too."""
SHM = "/dev/shm"
_SURE = 0.97
"""Part of a card's memory that is held against the plan: drivers differ in what they keep."""
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_SHARED = {Sharing.TIME_SLICING.value: "time-sliced", Sharing.MPS.value: "mps"}
_TOKEN_FLAG = re.compile(r"--hf[-_]token(=|$)")
"""The engine's own token: preflight sees variables and files, not the engine's arguments."""
_COPIED = ("image", "imagePullPolicy", "envFrom", "env", "resources", "securityContext", "terminationMessagePolicy", "volumeMounts")


def run_command() -> list[str]:
    """The container's command; its args are the engine's own command line."""
    return command("run", "--")


def liveness(server: PlannedServer) -> dict[str, Any]:
    """The probe that ends a pod whose engine hangs. Isolated and without the image's packages: it starts in a moment."""
    limit = put(str(server.times.hang), "runtime.hang_seconds", "hang")
    return {
        "exec": {"command": ["python3", "-I", "-S", ARCHIVE_PATH, "live", limit]},
        "timeoutSeconds": PROBE_SECONDS,
        "periodSeconds": PROBE_SECONDS,
        "failureThreshold": 2,
        "terminationGracePeriodSeconds": probe_grace(server),
    }


def probe_grace(server: PlannedServer) -> int:
    """The whole grace of the liveness probe in seconds."""
    return server.times.deregistration + PROBE_GRACE


def settings(spec: Any, engine: Mapping[str, Any], server: PlannedServer, preflight: Mapping[str, Any]) -> Any:
    """The variable that carries what the supervisor needs beside the engine's own arguments. No predicted number stands in it."""
    times, image = server.times, server.config.image
    drain = ("rollout.drain_seconds", "drain")
    # A version that only a table derives from a vendor's own numbers is not held against the image.
    named = server.vllm and (image.reference is None or image.vllm or server.vllm in image.reference)
    guessed = named and image.reference is not None and not image.vllm
    value = {
        **({"vllm": put(server.vllm, "image.reference", "image")} if named else {}),
        **({"vllm_sure": put(False, "image.reference", "image")} if guessed else {}),
        "drain_seconds": put(times.drain, *drain),
        **({"settle_seconds": put(times.drain, *drain)} if times.drain < SETTLE else {}),
        "teardown_seconds": times.teardown,
        **_given("pre_stop_seconds", _waits(engine)),
        **_given("grace_seconds", _at(spec, "terminationGracePeriodSeconds")),
        "hang_seconds": put(times.hang, "runtime.hang_seconds", "hang"),
        **({"own_shm": True} if _own_shm(spec, engine) else {}),
        **({"log": put("json", "runtime.log")} if server.config.runtime.log is LogForm.JSON else {}),
        **({"preflight": preflight} if preflight else {}),
    }
    made: dict[str, Any] = {"name": SETTINGS, "value": Encoded(value)}
    return put(made, "runtime", "settings")


def _given(name: str, seconds: Any) -> dict[str, Any]:
    """The setting, where the pod states it as a number."""
    return {name: seconds} if type(bare(seconds)) is int else {}


def _waits(engine: Mapping[str, Any]) -> Any:
    """Seconds that preStop sleeps; 0 without one, None for one that does something else."""
    hook = bare(_at(engine, "lifecycle", "preStop"))
    return _at(hook, "sleep", "seconds") if hook else 0


def _own_shm(spec: Any, engine: Mapping[str, Any]) -> bool:
    """Whether /dev/shm is a volume of this pod that no other container mounts; preflight has ended before the engine starts."""
    name = str(next((bare(_at(each, "name")) for each in _items(engine, "volumeMounts") if bare(_at(each, "mountPath")) == SHM), ""))
    memory = any(_is(each, name) and isinstance(bare(_at(each, "emptyDir")), Mapping) for each in _items(spec, "volumes"))
    others = [each for key in ("containers", "initContainers") for each in _items(spec, key)]
    others = [each for each in others if not (_is(each, bare(engine["name"])) or _is(each, PREFLIGHT))]
    return memory and not any(_is(mount, name) for each in others for mount in _items(each, "volumeMounts"))


def supervised(spec: Any, container: str, server: PlannedServer, pool: PlannedPool, pods: PlannedPods) -> Any:
    """``spec`` with the supervisor's settings in the engine's container, and preflight as its last init container.

    Both follow the container as it is after all patches. Preflight asks for the same resources, so the pod asks for no more than before;
    what a patch says of it is merged last.
    """
    engine = next((bare(each) for each in _items(spec, "containers") if _is(each, container)), None)
    if engine is None:
        return spec
    wanted = server.config.runtime.preflight is not False
    if not (_listed(engine, "env") and _listed(spec, "initContainers")):
        return spec  # a patch wrote what is no list: it stays as it is, and is refused for that
    env = _items(engine, "env")
    if not any(_is(each, SETTINGS) for each in env):
        env = [*env, settings(spec, engine, server, _looks(spec, engine, server, pool, pods) if wanted else {})]
    engine = {**engine, "env": env}
    made = {**spec, "containers": [engine if _is(each, container) else each for each in _items(spec, "containers")]}
    return {**made, "initContainers": _init(spec, engine, server.config.extra.pod_patch)} if wanted else made


def _init(spec: Any, engine: Mapping[str, Any], patch: Mapping[str, Any]) -> list[Any]:
    made = {"name": PREFLIGHT, "command": command(PREFLIGHT)} | {key: engine[key] for key in _COPIED if key in engine}
    for at, each in enumerate(_items(patch, "initContainers")):
        if _is(each, PREFLIGHT):
            made = merged(made, each, f"extra.pod_patch.initContainers[{at}]")
    return [*(each for each in _items(spec, "initContainers") if not _is(each, PREFLIGHT)), put(made, "runtime.preflight")]


def _looks(spec: Any, engine: Any, server: PlannedServer, pool: PlannedPool, pods: PlannedPods) -> dict[str, Any]:
    """What preflight holds against the machine: only what the plan is sure of."""
    image = server.config.image
    cuda = tracks()[server.config.track.value].cuda if image.reference is None else None
    shm = next((_at(each, "emptyDir", "sizeLimit") for each in _items(spec, "volumes") if _is(each, "shm")), None)
    model = _model(server, [str(bare(each)) for each in _items(engine, "args")])
    found = {
        "gpus": _cards(pool, pods, _at(engine, "resources", "limits", pool.resource)),
        "cuda": put(cuda, "image.track") if cuda else None,
        "shm_mib": _mib(shm),
        "memory_mib": _mib(_at(engine, "resources", "limits", "memory")),
        "model": put(model, "model", "preflight") if model else None,
        "writable": ["/tmp"],
    }
    return {name: value for name, value in found.items() if value is not None}


def _mib(size: Any) -> Any:
    """A quantity in MiB, from where the quantity came."""
    try:
        return None if size is None else replaced(size, bytes_of(str(bare(size))) // MIB)
    except ValueError:
        return None  # a patch wrote what is no quantity: the API server says so


def _cards(pool: PlannedPool, pods: PlannedPods, units: Any) -> Any:
    """Number and kind of the GPUs. Several shares may lie on one card or on several, so their number says nothing."""
    count = pods.gpus if pool.allocation == Allocation.CLAIM.value else bare(units)
    if not str(count).isdigit() or (pool.sharing in _SHARED and int(count) > 1):
        return None
    kind: dict[str, Any] = {"sharing": _SHARED.get(pool.sharing, pool.sharing)}
    if pool.sharing == Sharing.MIG.value:
        kind["profile"] = pool.resource.removeprefix("nvidia.com/mig-")
    else:
        memory, product = pool.unit_memory_bytes, pool.selector.get("nvidia.com/gpu.product")
        kind |= ({"memory_mib": int(memory * _SURE) // MIB} if memory else {}) | ({"model": product} if product else {})
    return put({"count": int(count), **kind}, "gpus", "preflight")


def _model(server: PlannedServer, args: Sequence[str]) -> dict[str, Any] | None:
    """The model's files: in a store that is mounted here, or on the hub. Other folders come from volumes of a person's own."""
    name, revision = server.args.model, server.args.revision
    if name.startswith(f"{WEIGHTS_DIR}/"):
        return {"name": name}
    if not _REPOSITORY.fullmatch(name) or any(map(_TOKEN_FLAG.match, args)):
        return None
    return {"name": name, **({"revision": revision} if revision else {})}


def _at(node: Any, *keys: str) -> Any:
    """The value below ``node``, with its source; None when nothing is there."""
    for key in keys:
        inner = bare(node)
        node = inner.get(key) if isinstance(inner, Mapping) else None
    return node


def _items(node: Any, key: str) -> list[Any]:
    found = bare(_at(node, key))
    return found if isinstance(found, list) else []


def _listed(node: Any, key: str) -> bool:
    return isinstance(bare(_at(node, key)), list | None)


def _is(item: Any, name: str) -> bool:
    return bool(bare(_at(item, "name")) == name)
