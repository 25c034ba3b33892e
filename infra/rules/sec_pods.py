"""Rights of the engine's container, what it can write, and what runs in it."""

from collections.abc import Iterable

from interlock.infra.catalog.images import image_reference
from interlock.infra.facts import Bundle, Container, Fact, Mount, Place, Pod, Workload, known
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import engine_containers, switched_on, where
from interlock.infra.rules.rule import Hit, Settings, drop, rule
from interlock.infra.rules.sto_placement import OPEN, security_level


@rule(
    "SEC-006",
    Severity.WARNING,
    demand="The engine's container is not privileged.",
    reason="A privileged container sees every card of the node; it uses GPUs of others, and can take over the node.",
    source="Kubernetes documentation, 'Pod Security Standards'; NVIDIA/k8s-device-plugin README",
    remedy="Remove privileged; the device plugin provides the card.",
    fault="privileged",
    links=("https://kubernetes.io/docs/concepts/security/pod-security-standards/",),
)
def privileged(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        fact = container.security.get("privileged", Fact())
        if switched_on(fact):
            text = "the engine's container is privileged: it sees all cards and devices of the node, whatever the scheduler gave it"
            yield Hit(fact.path, text, "remove privileged; for RDMA add the capability IPC_LOCK", "true", fixes=drop(fact.path))


def _writable(pod: Pod, container: Container) -> list[Mount]:
    kinds = {volume.name: volume.kind for volume in pod.volumes}
    return [mount for mount in container.mounts if not mount.read_only and kinds.get(mount.volume, "") not in ("configMap", "secret")]


@rule(
    "SEC-007",
    Severity.WARNING,
    demand="A read-only root has a writable /tmp.",
    reason="vLLM makes its sockets between processes in /tmp, and compilers write there; the engine dies at start.",
    source="vllm/utils/network_utils.py get_open_zmq_ipc_path (VLLM_RPC_BASE_PATH, the temporary directory by default)",
    remedy="Mount emptyDirs at /tmp and at the caches.",
    fault="readonly-rootfs-no-writable",
)
def read_only_root(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod, container in engine_containers(workload):
        fact = container.security.get("readOnlyRootFilesystem", Fact())
        writable = [mount for mount in _writable(pod, container) if mount.mount_path != "/dev/shm"]
        if switched_on(fact) and not any(mount.mount_path.rstrip("/") in ("/tmp", "") for mount in writable):
            text = "the root is read-only and /tmp is not mounted: the engine writes sockets, compile caches and downloads there"
            remedy = "mount an emptyDir at /tmp (and one for HOME and the model cache)"
            yield Hit(fact.path, text, remedy, "true")


_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
_NEEDED = (
    ("the engine's cache", ("VLLM_CACHE_ROOT", "XDG_CACHE_HOME"), ".cache"),
    ("the hub's cache", ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"), ".cache"),
    ("Triton's cache", ("TRITON_CACHE_DIR", "TRITON_HOME"), ".triton"),
)
"""What is written below HOME: whose it is, the variables that move it, and the folder otherwise."""


@rule(
    "SEC-008",
    Severity.ERROR,
    demand="A user that the image does not know has a home it can write.",
    reason="Without an entry in /etc/passwd HOME is /, so ~/.cache is /.cache: permission denied at the first download or compile.",
    source="huggingface/inference-benchmarker#47, opea-project/GenAIInfra#882, llm-d/llm-d#1450, vllm-project/vllm#10185",
    remedy="Set HOME and the cache variables to a writable volume.",
    fault="home-not-writable",
    settings={"image_user": 2000},
)
def home(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod, container in engine_containers(workload):
        user, non_root = (container.security.get(name, Fact()) for name in ("runAsUser", "runAsNonRoot"))
        named = user.known and user.get() not in ("0", str(settings["image_user"]))
        if not (named or (switched_on(non_root) and user.absent)) or container.env_from:
            continue
        image = image_reference(str(container.image.value) if container.image.known else "")
        own = container.env.get("HOME", known("/"))
        if not named and any(name in container.env for _, names, _ in _NEEDED for name in names):
            continue  # Whoever the platform chooses; somebody thought of its caches.
        if not image.is_on_hub("vllm/vllm-openai") or not own.known or _may_write(pod, container, own.get()):
            continue
        lost = [what for what, names, folder in _NEEDED if _needs(workload, what) and not _kept(pod, container, names, own.get(), folder)]
        if not lost:
            continue
        who = f"user {user.get()}" if named else "a user other than root"
        where_to = "has no home in this image (HOME is /)" if own.get() == "/" else f"cannot write its HOME {own.get()}"
        text = f"{who} {where_to}, and {' and '.join(lost)} {'lies' if len(lost) == 1 else 'lie'} below it: permission denied"
        path = (user if named else non_root).path
        level = Severity.WARNING if lost == ["Triton's cache"] else None
        remedy = "set HOME to a writable volume (or VLLM_CACHE_ROOT, TRITON_CACHE_DIR and HF_HOME each)"
        yield Hit(path or where(workload, Place.SECURITY), text, remedy, user.value or "", severity=level)


def _needs(workload: Workload, what: str) -> bool:
    """Whether an engine writes there: without compilation only the hub's client does, and with local weights not even that."""
    if what == "the hub's cache":
        return not (workload.engine.model.known and workload.engine.model.get().startswith("/"))
    return not switched_on(workload.engine.flag("enforce-eager"))


def _kept(pod: Pod, container: Container, names: tuple[str, ...], own: str, folder: str) -> bool:
    """Whether a variable moves a cache, or a volume holds its folder below HOME, so that it can be written."""
    moved = next((container.env[name] for name in names if name in container.env), None)
    place = moved if moved is not None else known(f"{own.rstrip('/')}/{folder}")
    return not place.known or _may_write(pod, container, place.get())


def _may_write(pod: Pod, container: Container, place: str) -> bool:
    """Whether a folder lies on a volume that can be written, or where everybody may write."""
    folder = f"{place.rstrip('/')}/"
    read_only = switched_on(container.security.get("readOnlyRootFilesystem", Fact()))
    places = [mount.mount_path for mount in _writable(pod, container)] + ([] if read_only else list(_TEMPORARY))
    return any(folder.startswith(f"{each.rstrip('/')}/") for each in places)


@rule(
    "SEC-009",
    Severity.WARNING,
    demand="Code of a model's repository runs only at a pinned revision.",
    reason="Whoever can push to that repository runs code beside your data at the next restart.",
    source="vllm/config/model.py trust_remote_code, code_revision; Hugging Face documentation, 'Custom models'",
    remedy="Pin the revision, or use a model that vLLM has built in.",
)
def remote_code(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    flag = workload.engine.flag("trust-remote-code")
    pinned = not workload.engine.flag("code-revision").absent or not workload.engine.flag("revision").absent
    local = workload.engine.model.known and workload.engine.model.get().startswith("/")
    if switched_on(flag) and not pinned and not local:
        text = "code of the model's repository runs in the engine, and no revision pins it"
        yield Hit(where(workload, Place.ARGS, flag), text, "pin --revision (and --code-revision), or drop --trust-remote-code")


@rule(
    "SEC-010",
    Severity.WARNING,
    demand="Development endpoints are off.",
    reason="They put the engine to sleep, clear caches and call any worker method, without a key.",
    source="vllm/envs.py VLLM_SERVER_DEV_MODE; vLLM documentation, 'Security'",
    remedy="Remove VLLM_SERVER_DEV_MODE.",
    links=("https://docs.vllm.ai/en/latest/usage/security/",),
)
def development_mode(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        fact = container.env.get("VLLM_SERVER_DEV_MODE", Fact())
        if switched_on(fact):
            text = (
                "VLLM_SERVER_DEV_MODE opens /sleep, /collective_rpc, /reset_prefix_cache and /server_info to every caller, without the key"
            )
            yield Hit(fact.path, text, "remove it in production", fact.get(), fixes=drop(fact.path.removesuffix(".value")))


@rule(
    "SEC-011",
    Severity.ERROR,
    demand="A pod that shares the host's IPC or network is in a namespace whose Pod Security level allows it.",
    reason="The levels baseline and restricted forbid both: the API server refuses every pod, and the Deployment stays empty.",
    source="Kubernetes documentation, 'Pod Security Standards' (Host Namespaces)",
    remedy="Remove the field: an emptyDir of medium Memory at /dev/shm is what ranks share memory through.",
    links=("https://kubernetes.io/docs/concepts/security/pod-security-standards/",),
)
def host_namespaces(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    level = security_level(workload, bundle)
    if level in ("", OPEN):
        return
    for pod in workload.pods:
        for name, shared in (("hostIPC", pod.host_ipc), ("hostNetwork", pod.host_network)):
            if shared:
                path = f"{pod.path}.{name}"
                text = f"{name} is forbidden by the level {level} that namespace {workload.origin.namespace} enforces"
                yield Hit(path, text, f"remove {name}, or use a namespace of the level privileged", "true", fixes=drop(path))
