"""What readers of chart values share: images put together from parts, and a pod around one container."""

from collections.abc import Iterator
from difflib import get_close_matches

from interlock.infra.catalog.charts import Below, chart, unread
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Node, Overlay
from interlock.infra.recognise.pods import read_pod
from interlock.infra.recognise.workloads import Result, engines_in

ADDS = frozenset({"probes", "shm", "gpus", "service-links-off", "ports", "chart"})
"""What a chart's templates may add to what the values say."""


def pod_of(node: Node, container: Node, source: Origin, context: Context, adds: frozenset[str]) -> Result:
    """The engine of one container that a mapping of values describes."""
    spec = Overlay(node.value, node.path, {"containers": Node([container], node.path), "initContainers": Node(None), "volumes": Node(None)})
    yield from engines_in(Node({}), source, (read_pod(spec, Node({}), context),), context, adds)


def dropped(node: Node, below: Below, name: str, source: Origin) -> Iterator[DocumentProblem]:
    """Keys below a node that no template of a chart reads; ``value`` is their path from there."""
    for steps in unread(below, node.value):
        known, place = below, node
        for step in steps[:-1]:
            known = known.keys["[]" if isinstance(step, int) else step]
            place = place.item(step) if isinstance(step, int) else place[step]
        key, path = str(steps[-1]), "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).strip(".")
        near = next((each for each in known.keys if each.lower() == key.lower()), None)
        near = near or next(iter(get_close_matches(key, [each for each in known.keys if each != "[]"], 1, 0.84)), None)
        text = f"no template of {name} {chart(name).version} reads {path}, so it has no effect"
        remedy = f"write {near}" if near else f"remove {key}, or use a chart that reads it"
        yield DocumentProblem(source, "schema-typo", text, place[key].path, path, remedy, fault="chart-key-dropped")


def listed(node: Node) -> Node:
    """A list or text; nothing where a mapping stands."""
    return node if node.is_list or not node.mapping else Node(None, node.path)


def image_of(node: Node) -> Node:
    """``image`` as a text, or put together from repository and tag (in ``image`` or beside it)."""
    image = node["image"]
    if image.string() and not node["repository"]:
        tag = node.first("tag", "imageTag")
        plain = ":" not in image.string().rpartition("/")[2] and "@" not in image.string()
        if plain and not tag.string() and ("tag" in node.mapping or "imageTag" in node.mapping):
            return Node(f"{image.string()}:{{{{ default }}}}", image.path)  # An empty tag is the chart's own version.
        return Node(f"{image.string()}:{tag.string()}", tag.path) if plain and tag.string() else image
    part = image if image.mapping else node
    repository = part.first("repository", "name", "repo").string()
    if not repository:
        return Node(None, image.path)
    registry = part["registry"].string()
    tag = part["tag"] if part["tag"] else node["tag"]
    digest = part.first("digest", "sha").string()
    text = f"{registry}/{repository}" if registry else repository
    text += f":{tag.string()}" if tag.string() else "" if digest or ":" in repository else ":{{ default }}"
    return Node(f"{text}@{digest}" if digest else text, tag.path if tag else part["repository"].path)
