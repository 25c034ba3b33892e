"""Images and what is started in them: moving tags, doubtful references, packages installed at start."""

import re
from collections.abc import Iterable

from interlock.infra.catalog.images import image_family, image_reference
from interlock.infra.catalog.vllm_tables import vllm_names
from interlock.infra.facts import Bundle, Container, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import engine_containers
from interlock.infra.rules.rule import Hit, Settings, put, rule
from interlock.infra.values import Version

_MOVING = frozenset({"latest", "nightly", "main", "master"})
_MOVING_ALONE = frozenset({"dev", "develop", "devel", "edge", "stable", "head", "canary", "rolling", "snapshot", "unstable", "current"})
_PINNED_BUILD = re.compile(r"(?<![0-9a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}(?![0-9a-f])|(?<!\d)20\d{2}[-_.]?\d{2}[-_.]?\d{2}(?!\d)")
_VERSION = re.compile(r"\d+\.\d+")
_INSTALLS = re.compile(
    r"\b(?:pip3?|uv pip|uv)\s+(?:install|add|sync)\b|\bgit\s+clone\b"
    r"|\b(?:apt-get|apt|dnf|yum|apk|microdnf)\b[^;&|\n]{0,40}\s(?:install|add)\b"
)


_NO_IMAGES = {
    "vllm": "vllm/vllm-openai",
    "vllm/vllm": "vllm/vllm-openai",
    "vllm/vllm-cuda": "vllm/vllm-openai",
    "vllm/vllm-gpu": "vllm/vllm-openai",
    "vllm/vllm-rocm": "vllm/vllm-openai-rocm",
    "vllm-project/vllm": "vllm/vllm-openai",
    "vllm-project/vllm-openai": "vllm/vllm-openai",
}
"""Names under which people look for the project's images, with the one that exists (vLLM documentation, 'Installation')."""


def moving(tag: str) -> bool:
    """Whether a tag is moved by its publisher: none, ``latest``, ``nightly`` or ``main`` without a date or commit, and the like."""
    words = set(re.split(r"[-_.+]", tag.lower()))
    if _PINNED_BUILD.search(tag.lower()):
        return False
    if not tag or words & _MOVING:
        return not ((words & _MOVING) <= {"main", "master"} and _VERSION.search(tag))
    return bool(words & _MOVING_ALONE) and not _VERSION.search(tag)


@rule(
    "VER-001",
    Severity.WARNING,
    demand="The engine's image has a version tag or a digest.",
    reason="A moving tag changes the engine under a running service: flags go, defaults move, replicas differ, rollback is void.",
    source="Kubernetes documentation, 'Images'; vLLM release notes (defaults changed in 0.21, flags removed in 0.8 to 0.33)",
    remedy="Pin the tag and the digest.",
    fault="image-floating",
    links=("https://kubernetes.io/docs/concepts/containers/images/#image-names",),
    settings={"example_tag": "v0.33.0"},
    ours=Severity.ERROR,
)
def floating(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    seen = set()
    for _, container in engine_containers(workload):
        image = container.image
        if image.unknown:
            text = f"the image is not readable here ({image.why or 'filled in later'}), so its tag was not judged"
            yield Hit(image.path, text, "state a version tag and digest", severity=Severity.INFO, detail="Undecided, not wrong.")
        if not image.known or not image.get().strip() or image.get() in seen:
            continue
        seen.add(image.get())
        ref = image_reference(image.get())
        nameless = ref.is_on_hub("vllm/vllm-openai") and not _VERSION.search(ref.tag) and not _PINNED_BUILD.search(ref.tag.lower())
        if not ref.digest and not moving(ref.tag) and nameless:
            text = f"tag {ref.tag!r} names no version of vLLM: flags and defaults were not judged by one, and its publisher may move it"
            remedy = f"write a version, such as {ref.name}:{settings['example_tag']}, and its digest"
            yield Hit(image.path, text, remedy, image.get(), severity=Severity.WARNING)
        if ref.digest or not moving(ref.tag):
            continue
        what = f"tag {ref.tag!r} moves" if ref.tag else "no tag means latest"
        text = f"{what}: two pods of one Deployment can run different vLLM versions, and flags or defaults change without a change here"
        if ref.is_on_hub("vllm/vllm-openai"):
            remedy, level = f"write {ref.name}:{settings['example_tag']}@sha256:... (a version you tested)", None
        else:
            # What tags another publisher has is not known here.
            remedy, level = f"write a version tag of {ref.name} that you tested, with its digest", Severity.WARNING
        yield Hit(image.path, text, remedy, image.get(), severity=level)


@rule(
    "VER-002",
    Severity.WARNING,
    demand="The image exists at its publisher.",
    reason="The pod stays in ImagePullBackOff.",
    source="hub.docker.com/r/vllm/vllm-openai/tags",
    remedy="Correct the name or the tag.",
    fault="image-doubtful",
    links=("https://hub.docker.com/r/vllm/vllm-openai/tags",),
    settings={"known_on": "2026-11-29"},
)
def doubtful(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        if not container.image.known:
            continue
        ref = image_reference(container.image.get())
        stock = ref.is_on_hub("vllm/vllm-openai")
        if stock and re.match(r"\d+\.\d+", ref.tag):
            text = f"tags of vllm/vllm-openai start with v; {ref.tag} does not exist"
            yield Hit(
                container.image.path,
                text,
                f"write vllm/vllm-openai:v{ref.tag}",
                container.image.get(),
                fixes=put(container.image.path, f"vllm/vllm-openai:v{ref.tag}"),
            )
        elif stock and _ahead(ref.tag):
            text = f"no release {ref.tag} was known on {settings['known_on']}; the newest was {vllm_names('flags').versions[-1]}"
            yield Hit(container.image.path, text, "check the tag at its publisher", container.image.get())
        elif wrong := next((name for name in _NO_IMAGES if ref.is_on_hub(name)), ""):
            remedy = f"write {_NO_IMAGES[wrong]}"
            yield Hit(container.image.path, "vLLM publishes no image of this name", remedy, container.image.get())


def _ahead(tag: str) -> bool:
    """Whether a tag names a release beyond the newest one that was read."""
    found, newest = Version.released(tag), Version.released(vllm_names("flags").versions[-1])
    return tag.startswith("v") and found is not None and newest is not None and found > (newest[0], newest[1] + 1, 99)


def words(container: Container) -> Iterable[tuple[str, str]]:
    """Every known word of command and args with its path."""
    for fact in (container.command, container.args):
        if fact.known:
            for index, word in enumerate(fact.get()):
                yield word, f"{fact.path}[{index}]"


@rule(
    "VER-003",
    Severity.WARNING,
    demand="Nothing is installed when the container starts.",
    reason="A package index that is slow or has a new release breaks the start of a service that worked yesterday.",
    source="Kubernetes documentation, 'Images'; PyPI's releases are mutable in effect (a new version is chosen at each start)",
    remedy="Build the packages into the image.",
    fault="install-at-start",
)
def installs(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        line = [(word, path) for word, path in words(container)]
        joined = next(((" ".join(word for word, _ in line), path) for _, path in line), ("", ""))
        for text, path in (*line, joined):
            match = _INSTALLS.search(text)
            if match:
                summary = f"the container runs '{match.group(0).strip()}' at every start"
                yield Hit(path, summary, "build an image that has it, and pin its digest", match.group(0).strip())
                break


@rule(
    "VER-004",
    Severity.INFO,
    demand="The engine's version is one that is still maintained.",
    reason="Old versions carry the removed V0 engine and known vulnerabilities, and get no fixes.",
    source="vLLM release notes: the V0 engine was removed in 0.11",
    remedy="Move to a maintained version.",
    links=("https://github.com/vllm-project/vllm/releases",),
    settings={"oldest": "0.11.0", "advised": "0.33.0"},
)
def old(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    version, oldest = workload.engine.version, str(settings["oldest"])
    found = workload.engine.release
    least = Version.released(oldest)
    if found and least and found < least:
        text = f"vLLM {version.get()} is older than {oldest}: its engine, defaults and metrics are not those of today's advice"
        yield Hit(
            version.path or workload.origin.path,
            text,
            f"move to {settings['advised']} step by step",
            version.get(),
        )


@rule(
    "VER-006",
    Severity.WARNING,
    demand="The engine's image carries vLLM.",
    reason="The command is not found in another engine's image, and the container ends at once.",
    source="the publishers' own descriptions of their images (infra/catalog/engine_images.json)",
    remedy="Use an image of vLLM, or start the engine that the image carries.",
    fault="wrong-accelerator-image",
    ours=Severity.ERROR,
)
def carries_the_engine(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        family = image_family(container.image.get()) if container.image.known else {}
        if family.get("without_vllm") and "vllm" not in container.image.get().lower():
            carries = "no engine" if family["engine"] == "none" else str(family["engine"])
            text = f"the container starts vLLM, but the image carries {carries}"
            yield Hit(container.image.path, text, "use an image of vLLM, such as vllm/vllm-openai", container.image.get())


_BY_NAME = "name it in repository and tag, as in own-vllm:vllm0.33.0-7"


@rule(
    "VER-007",
    Severity.INFO,
    demand="The vLLM version of the engine's image is known.",
    reason="Arguments, defaults and memory differ from version to version; where none is known, the newest one read is assumed.",
    source="the flags, defaults and start-up checks of each release (infra/catalog/vllm_flags.json, vllm_relations.json)",
    remedy=f"Let the image say its version: {_BY_NAME}.",
)
def version_is_known(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if workload.engine.version.known or workload.ray is not None:
        return
    for _, container in engine_containers(workload):
        if not container.image.known or not container.image.get().strip():
            continue
        ref = image_reference(container.image.get())
        if ref.is_on_hub("vllm/vllm-openai") or (moving(ref.tag) and not ref.digest):
            continue  # VER-001 tells these.
        newest = vllm_names("flags").versions[-1]
        text = f"this image does not say which vLLM it carries: it is judged as {newest}, the newest one known here"
        yield Hit(container.image.path, text, _BY_NAME, container.image.get(), detail="Undecided, not wrong.")


@rule(
    "VER-008",
    Severity.ERROR,
    demand="The engine's image of a production stack has a digest.",
    reason="A tag can be moved: nodes that pull later run another engine than those that run already, and a rollback brings back neither.",
    source="Kubernetes documentation, 'Images' (image names, digests)",
    remedy="Pin the digest.",
    links=("https://kubernetes.io/docs/concepts/containers/images/#image-names",),
)
def without_digest(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if not (workload.engine.production.known and workload.engine.production.get()):
        return
    seen = set()
    for _, container in engine_containers(workload):
        image = container.image
        if not image.known or image.get() in seen or image_reference(image.get()).digest or not image.get().strip():
            continue
        seen.add(image.get())
        text = f"{image.get()} has no digest, and production is true: a tag can be moved under a running service"
        remedy = f"write image.reference: {image.get()}@sha256:... (docker buildx imagetools inspect {image.get()} prints it)"
        yield Hit(image.path, text, remedy, image.get())
