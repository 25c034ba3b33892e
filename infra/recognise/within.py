"""What the API server refuses of a workload whose parts do not name each other: selector and labels, mounts and volumes, images."""

from collections.abc import Iterator

from interlock.infra.engine.words import templated
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise.document import Node


def within(root: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """The problems of one whole object."""
    yield from _selector(root, origin)
    pods = [*_pods(root), *_group(root)]
    for pod in pods:
        yield from _mounts(root, pod, origin)
    for pod in pods:
        yield from _claims(pod, origin)
        yield from _images(pod, origin)


def is_patch(root: Node) -> bool:
    """Whether it is a patch of an object: a workload without selector whose containers lack their images."""
    containers = [container for pod in _pods(root) for container in pod["containers"].items()]
    return not root.at("spec", "selector") and bool(containers) and not all(container["image"] for container in containers)


def _selector(root: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """The API server refuses a workload whose selector does not match its own template."""
    spec = root["spec"]
    wanted, labels = spec.at("selector", "matchLabels").texts(), spec.at("template", "metadata", "labels").texts()
    stated = spec.at("template", "metadata", "labels")
    if stated.unknown or any(value.unknown for _, value in stated.fields()):
        return
    if root["kind"].string() not in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet") or not wanted:
        return
    wrong = [f"{key}={value}" for key, value in wanted.items() if labels.get(key) != value and not templated(value + labels.get(key, ""))]
    if wrong:
        asked = ", ".join(wrong[:3])
        text = f"the selector asks for {asked}, which the template's labels do not have; the API server refuses that"
        path = spec.at("selector", "matchLabels").path
        yield DocumentProblem(origin, "schema-broken", text, path, asked[:80], "give selector and template the same labels")


def _mounts(root: Node, pod: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """The API server refuses mounts of volumes that the pod does not have: told once, however many they are."""
    names = {volume["name"].string() for volume in pod["volumes"].items()}
    for claims in (root.at("spec", "volumeClaimTemplates"), root.at("spec", "leaderWorkerTemplate", "volumeClaimTemplates")):
        names |= {claim.at("metadata", "name").string() for claim in claims.items()}
    if pod["volumes"].unknown or any(volume.unknown or volume["name"].unknown for volume in pod["volumes"].items()):
        return
    mounted = [mount["name"] for container in _containers(pod) for mount in container["volumeMounts"].items()]
    lost = [(name, each.path) for each in mounted if (name := each.string()) and name not in names and not templated(name)]
    if lost:
        missing = list(dict.fromkeys(name for name, _ in lost))
        what, it = f"volume{'s' if len(missing) > 1 else ''} {', '.join(missing)}", "it" if len(missing) == 1 else "them"
        text = f"the pod has no {what}, and its containers mount {it}; the API server refuses that"
        remedy = f"add the {what}, or remove the mount{'s' if len(lost) > 1 else ''}"
        also = (pod["volumes"].path,)
        yield DocumentProblem(origin, "schema-broken", text, lost[0][1], missing[0][:80], remedy, also=also)


def _claims(pod: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """The API server refuses a container that asks for devices of a claim which its pod does not name."""
    names = {claim["name"].string() for claim in pod["resourceClaims"].items()}
    if pod["resourceClaims"].unknown or any(claim.unknown or claim["name"].unknown for claim in pod["resourceClaims"].items()):
        return
    asked = [claim["name"] for container in _containers(pod) for claim in container.at("resources", "claims").items()]
    lost = [(name, each.path) for each in asked if (name := each.string()) and name not in names and not templated(name)]
    if lost:
        name, path = lost[0]
        text = f"the pod names no resource claim {name}, and its containers ask for its devices; the API server refuses that"
        remedy, also = f"add {name} to resourceClaims", (pod["resourceClaims"].path,)
        yield DocumentProblem(origin, "schema-broken", text, path, name[:80], remedy, also=also)


def _images(pod: Node, origin: Origin) -> Iterator[DocumentProblem]:
    """The API server refuses a container without an image: often a patch whose name is that of no container."""
    there = ", ".join(each["name"].string() for each in _containers(pod) if each["image"])
    for container in _containers(pod):
        if container.mapping and not container["image"]:
            name = container["name"].string()
            said = f"the container {name} has no image; the API server refuses that"
            remedy = f"to change a container that is there, name it ({there}); else name an image" if there else "name its image"
            place = container["name"].path if name else container.path
            yield DocumentProblem(origin, "schema-broken", said, place, name[:80], remedy, also=(container["image"].path,))


def _containers(pod: Node) -> list[Node]:
    return [*pod["containers"].items(), *pod["initContainers"].items()]


def _group(root: Node) -> Iterator[Node]:
    """Pods of a LeaderWorkerSet."""
    made = root.at("spec", "leaderWorkerTemplate")
    for pod in (made.at("leaderTemplate", "spec"), made.at("workerTemplate", "spec")):
        if pod.mapping:
            yield pod


def _pods(root: Node) -> Iterator[Node]:
    spec = root["spec"]
    for pod in (spec.at("template", "spec"), spec.at("jobTemplate", "spec", "template", "spec")):
        if pod.mapping:
            yield pod
    if root["kind"].string() == "Pod":
        yield spec
