"""Files that the engine opens at start: on which volume they lie, who may download them, and whether the hub's cache can be written."""

import re
from collections.abc import Iterable, Iterator

from interlock.infra.catalog.hub import ELSEWHERE, ENDPOINT, PUBLIC, TOKEN_FILE, TOKENS
from interlock.infra.catalog.images import image_reference
from interlock.infra.facts import Bundle, Container, Fact, Mount, Place, Pod, Role, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.cache import cache_folder, mount_of
from interlock.infra.rules.reading.checkpoint import GATED, gated
from interlock.infra.rules.reading.units import engine_containers, older, switched_on, where
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule

_CACHE_PATHS = ("/root/.cache", "/.cache", "/data", "/models", "/model", "/mnt", "/cache", "/workspace", "/home", "/opt", "/var")
TOKEN_NAMES = (
    "HF_HUB_TOKEN",
    "HUGGINGFACE_TOKEN",
    "HUGGINGFACE_HUB_TOKEN",
    "HUGGING_FACE_TOKEN",
    "HUGGINGFACEHUB_API_TOKEN",
    "HF_API_TOKEN",
)
"""Variables that people set for HF_TOKEN and that nothing reads."""
_EMPTY = ("emptyDir", "configMap", "secret")


def _kind(pod: Pod, mount: Mount) -> str:
    return next((volume.kind for volume in pod.volumes if volume.name == mount.volume), "")


@rule(
    "STO-006",
    Severity.WARNING,
    demand="A gated model is downloaded with a token.",
    reason="The hub answers 401 without a token and 403 where the account has not accepted the licence.",
    source="Hugging Face documentation, 'Gated models'; ray-project/ray#54812, awslabs/data-on-eks#605",
    remedy="Give HF_TOKEN from a Secret to every engine pod.",
    fault="gated-without-token",
    links=("https://huggingface.co/docs/hub/models-gated",),
    settings={"gated": GATED},
)
def token(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    model = str(workload.engine.model.value) if workload.engine.model.known else ""
    if not gated(model, str(settings["gated"])) or "hub-token" in workload.operator_adds:
        return
    for pod, container in engine_containers(workload):
        given = any(name in container.env for name in (*TOKENS, TOKEN_FILE))
        other = [fact for name in ELSEWHERE if not (fact := container.env.get(name, Fact())).absent]
        if given or any(switched_on(fact) for fact in other) or container.env_from or not workload.engine.flag("hf-token").absent:
            continue
        # What an init container fills, or a volume that outlives the pod, may hold the files already.
        filled = any(each.role is Role.INIT for each in pod.containers)
        lasting = [mount for mount in container.mounts if filled or _kind(pod, mount) not in _EMPTY]
        if any(mount.mount_path.startswith(_CACHE_PATHS) for mount in lasting):
            continue
        text = f"{model} is gated on the hub (licence and token), and the engine gets no HF_TOKEN"
        sure = official(workload) and not filled and not lasting and workload.engine.complete
        level = Severity.ERROR if sure and _public(container) and all(fact.known for fact in other) else Severity.WARNING
        wrong = next((name for name in TOKEN_NAMES if name in container.env), "")
        text += f" (nothing reads {wrong})" if wrong else ""
        remedy = f"rename {wrong} to HF_TOKEN" if wrong else "give HF_TOKEN from a Secret, of an account that accepted the licence"
        path = _entry(container.env[wrong].path) if wrong else where(workload, Place.ENV)
        also = () if wrong else ((None, workload.engine.model.path),)
        yield Hit(path, text, remedy, wrong or model, severity=level, also=also)


def _public(container: Container) -> bool:
    """Whether the files surely come from the public hub; a mirror may hand them out to everybody."""
    address = container.env.get(ENDPOINT, Fact()).default(PUBLIC)
    return address.known and address.get().rstrip("/") in ("", PUBLIC)


def _entry(path: str) -> str:
    """The name of the list entry under which a variable's value stands."""
    match = re.match(r"(.*\benv\[\d+\])", path)
    return f"{match[1]}.name" if match else path


def _of_the_hub(workload: Workload) -> bool:
    model = workload.engine.model
    return model.known and not str(model.value).startswith((".", "/")) and "://" not in str(model.value) and "/" in str(model.value)


@rule(
    "STO-007",
    Severity.ERROR,
    demand="The cache of a model that is named by its id can be written.",
    reason="The hub's client makes folders, locks and references there even when every file is present; the start fails.",
    source="huggingface/huggingface_hub#2797, changed by #4525 (July 2026); huggingface/transformers#47852",
    remedy="Mount it writable, or name the folder of the files as the model.",
    fault="hub-cache-read-only",
    settings={"error_before": "0.20.0"},
)
def cache_read_only(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if not _of_the_hub(workload) or not workload.engine.flag("download-dir").absent:
        return
    for _, container in engine_containers(workload):
        folder = cache_folder(container)
        mount = mount_of(container, folder.get()) if folder.known else None
        if mount is None or not mount.read_only:
            continue
        offline = switched_on(container.env.get("HF_HUB_OFFLINE", Fact()))
        # Newer clients read a complete cache; a missing file or a new revision still fails.
        sure = older(workload, str(settings["error_before"])) and not offline
        text = f"{workload.engine.model.get()} is looked up in {folder.get()}, which is mounted read-only: the client cannot write there"
        remedy = f"mount {mount.mount_path} writable, or name the folder of the files instead of the id"
        path = f"{mount.path}.readOnly"
        yield Hit(path, text, remedy, "true", severity=None if sure else Severity.WARNING, fixes=drop(path))


_IN_IMAGE = ("/vllm-workspace/", "/usr/", "/opt/", "/etc/", "/tmp/", "/app/")
_PATH_FLAGS = ("tokenizer", "chat-template", "config", "tool-parser-plugin", "ssl-keyfile", "ssl-certfile")


def _opened(workload: Workload) -> Iterator[tuple[str, Fact[str], str]]:
    """(what, fact, path) of every file or folder that the command line names."""
    engine = workload.engine
    if engine.model.known:
        yield "the model", engine.model, str(engine.model.value)
    for name in _PATH_FLAGS:
        flag = engine.flag(name)
        if flag.known:
            yield f"--{name}", flag, str(flag.value)
    adapters = engine.flag("lora-modules")
    for item in str(adapters.value).split() if adapters.known else ():
        named, equals, place = item.partition("=")
        if equals and place:
            yield f"adapter {named}", adapters, place


@rule(
    "STO-008",
    Severity.ERROR,
    demand="A local path that the engine opens lies on a volume.",
    reason="The project's own image holds no models, adapters or templates there: the start ends with no such file.",
    source="Dockerfile of vllm/vllm-openai (what the image holds); Kubernetes documentation, 'Volumes'",
    remedy="Mount the volume that holds it.",
    fault="local-path-missing",
)
def on_a_volume(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    plain = workload.engine.complete and workload.engine.entrypoint in ("serve", "module", "image")
    if not plain or workload.operator_adds or workload.ray is not None:
        return
    for pod, container in engine_containers(workload):
        image = image_reference(str(container.image.value) if container.image.known else "")
        # Webhooks that mount data into pods are asked for by annotations or labels of theirs.
        if not image.is_on_hub("vllm/vllm-openai") or pod.annotations or workload.engine.container not in ("", container.name):
            continue
        for what, fact, place in _opened(workload):
            if place.startswith("/") and not place.startswith(_IN_IMAGE) and mount_of(container, place) is None:
                text = f"{what} is {place}, and no volume is mounted there: the stock image holds nothing of that name"
                remedy = f"mount the volume that holds it at {place.rsplit('/', 1)[0] or '/'}, or name the model by its id on the hub"
                yield Hit(fact.path or where(workload, Place.VOLUMES), text, remedy, place)


_SCHEME, _LOADED = re.compile(r"([a-z][a-z0-9+.-]*)://"), ("s3", "gs", "az")
_PLAIN = ("serve", "module", "image", "shell")


@rule(
    "STO-011",
    Severity.ERROR,
    demand="A model is named as the hub knows it, as a folder, or by an address that the engine loads from.",
    reason="Any other text is taken for a name on the hub, whose client refuses it before anything is downloaded.",
    source="vllm/transformers_utils/runai_utils.py SUPPORTED_SCHEMES of 0.33; huggingface_hub utils/_validators.py validate_repo_id",
    remedy="Name the model as the hub does, or put it on a volume.",
    fault="model-address",
    links=("https://docs.vllm.ai/en/latest/models/extensions/runai_model_streamer/",),
)
def address(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    model, text = workload.engine.model, str(workload.engine.model.value or "")
    if not model.known or workload.engine.entrypoint not in _PLAIN or text.startswith(("/", ".", "~")):
        return
    place, scheme = where(workload, Place.MODEL, model), _SCHEME.match(text)
    loader = workload.engine.flag("load-format").default("auto").value
    if scheme and scheme[1] not in _LOADED and loader == "auto":
        rest, of_hub = text.partition("://")[2].partition("?")[0], scheme[1] in ("hf", "huggingface")
        remedy = f"write {rest}" if of_hub else "fetch it to a volume first, and name its folder"
        said = (
            f"vLLM loads from {', '.join(f'{each}://' for each in _LOADED)}, not from {scheme[0]}: it asks the hub for a model of that name"
        )
        level = Severity.ERROR if official(workload) else Severity.WARNING
        flag = "model" if any(each.name == "model" for each in workload.engine.flags) else ""
        yield Hit(place, said, remedy, text, severity=level, fixes=put(place, rest, flag=flag) if of_hub else ())
    elif not scheme and ("--" in text or ".." in text or text.endswith(".git")):
        said = f"no model of the hub has -- or .. in its name or .git at its end: only a folder {text} of the image would be found"
        yield Hit(place, said, "name it as the hub shows it, or by the whole path of the folder", text, severity=Severity.WARNING)
