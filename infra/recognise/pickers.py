"""InferencePools with the programs and objectives around them, DeviceClasses and device plugins."""

import re
from collections.abc import Iterator

from interlock.infra.catalog.pickers import places, program_of
from interlock.infra.facts import DeviceClass, DevicePlugin, EndpointPool, Fact, Objective, Origin, RouterProgram, absent, known
from interlock.infra.recognise.containers import mounted_file, mounts_of, raw_list, volume_nodes
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.workloads import templates

# Image of a device plugin -> the resource that it advertises where nothing is renamed.
_PLUGINS = (
    (re.compile(r"(^|/)k8s-device-plugin([:@]|$)"), "nvidia.com/gpu"),
    (re.compile(r"(^|/)rocm/k8s-device-plugin([:@]|$)"), "amd.com/gpu"),
)


def read_endpoint_pool(root: Node, document: Document, context: Context) -> Iterator[EndpointPool]:
    """An InferencePool of the released or of an older API."""
    spec = root["spec"]
    selector = spec.at("selector", "matchLabels").texts() or {k: v for k, v in spec["selector"].texts().items() if k != "matchLabels"}
    ports = tuple(port["number"].integer() for port in spec["targetPorts"].items())
    old = (spec["targetPortNumber"].integer(),) if spec["targetPortNumber"] else ()
    picker = spec.first("endpointPickerRef", "extensionRef")
    yield EndpointPool(origin(root, document), selector, ports or old, picker["failureMode"].text())


def read_device_class(root: Node, document: Document, context: Context) -> Iterator[DeviceClass]:
    """A DeviceClass."""
    name = root.at("spec", "extendedResourceName")
    if name:
        yield DeviceClass(origin(root, document), name.text())


def read_device_plugin(root: Node, document: Document, context: Context) -> Iterator[DevicePlugin]:
    """A DaemonSet that runs a device plugin."""
    for container in root.at("spec", "template", "spec", "containers").items():
        image = container["image"].string()
        for pattern, resource in reversed(_PLUGINS):
            if pattern.search(image):
                yield DevicePlugin(origin(root, document), resource, container["image"].path)
                break


def read_objective(root: Node, document: Document, context: Context) -> Iterator[Objective]:
    """An InferenceObjective or InferenceModelRewrite of either group."""
    group = root["apiVersion"].text().map(lambda text: text.rpartition("/")[0])
    yield Objective(origin(root, document), group, root.at("spec", "poolRef", "name").text())


def read_programs(root: Node, document: Document, context: Context) -> Iterator[RouterProgram]:
    """The endpoint pickers and sidecars of llm-d's router that a pod runs."""
    for template in templates(root):
        for key in ("containers", "initContainers"):
            for container in template.spec[key].items():
                row = program_of(container["image"].string())
                if row:
                    yield _program(container, row["program"], origin(root, document), context, template.spec)


def _program(container: Node, name: str, source: Origin, context: Context, spec: Node) -> RouterProgram:
    words = [*raw_list(container["command"]), *raw_list(container["args"])]
    # A command that is a shell's hides its words in one text.
    shell = any(word.known and re.search(r"(^|/)(ba)?sh$", word.get()) for word in words[:2])
    flags = tuple(_flags(words))
    config = _config(container, flags, spec, context)
    return RouterProgram(
        source,
        name,
        container.path,
        container["image"].text().map(lambda text: text.partition("@")[0].rpartition(":")[2]),
        flags,
        not shell and all(word.known for word in words),
        tuple(gate.text() for gate in config["featureGates"].items()),
        tuple(plugin["type"].text() for plugin in config["plugins"].items()),
        tuple(_keys(config)),
    )


def _flags(words: list[Fact[str]]) -> Iterator[tuple[str, Fact[str]]]:
    """Flags as pflag takes them: ``--name=value``, ``--name value``, ``--name`` of a switch."""
    for index, word in enumerate(words):
        name, equals, value = str(word.value or "").partition("=")
        if not word.known or not name.startswith("--") or not name[2:]:
            continue
        following = words[index + 1] if index + 1 < len(words) else absent()
        switch = not following.known or following.get().startswith("-")
        yield name[2:], known(value if equals else "true" if switch else following.get(), word.path)


def _config(container: Node, flags: tuple[tuple[str, Fact[str]], ...], spec: Node, context: Context) -> Node:
    """An EndpointPickerConfig: of --config-text, or of the file that a ConfigMap of the set holds; nothing where it cannot be read."""
    for name, value in flags:
        if not value.known:
            continue
        if name == "config-text":
            return context.load(Node(value.get(), value.path))
        if name == "config-file":
            found = mounted_file(mounts_of(container), volume_nodes(spec), context, value.get())
            return context.load(Node(*found)) if found else Node(None)
    return Node(None)


def _keys(config: Node) -> Iterator[tuple[str, str, str]]:
    """Every key of the places that the table describes."""
    for place in places():
        found = [config]
        for step in filter(None, place.split(".")):
            name, many, _ = step.partition("[]")
            found = [node[name] for node in found]
            found = [item for node in found for item in node.items()] if many else found
        for node in found:
            yield from ((place, key, child.path) for key, child in node.fields())
