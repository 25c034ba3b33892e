"""One container of a pod: its facts, and what it starts."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from interlock.infra.engine.arguments import Arguments, read_arguments
from interlock.infra.facts import Container, Fact, Mount, Probe, Role, Volume, absent, known, unknown
from interlock.infra.recognise import commands
from interlock.infra.recognise.accelerators import vendor_of
from interlock.infra.recognise.commands import WHOLE, Launch
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Node
from interlock.infra.recognise.env import Environment, read_environment
from interlock.infra.recognise.images import Image, read_image
from interlock.infra.recognise.leftovers import is_placeholder
from interlock.infra.recognise.supervised import silence_of

_PROBES = {"startup": "startupProbe", "readiness": "readinessProbe", "liveness": "livenessProbe"}
_HANDLERS = {"httpGet": "http", "tcpSocket": "tcp", "grpc": "grpc", "exec": "exec"}
_SLEEP = re.compile(r"^\s*(?:/bin/)?sleep\s+(\d+(?:\.\d+)?)\s*;?\s*$")
# Flags that vLLM has and the other engines spell otherwise: two of them make an unknown program a vLLM.
_TYPICAL = frozenset(
    {"tensor-parallel-size", "served-model-name", "max-model-len", "gpu-memory-utilization", "max-num-seqs", "enforce-eager"}
    | {"enable-auto-tool-choice", "tool-call-parser", "max-num-batched-tokens", "enable-prefix-caching", "pipeline-parallel-size"}
)
_FOREIGN = frozenset({"model-path", "mem-fraction-static", "model-id", "context-length", "num-shard"})


@dataclass(frozen=True, slots=True)
class Read:
    """A container with all that was found out about it."""

    container: Container
    launch: Launch
    environment: Environment
    image: Image
    arguments: Arguments
    file: Callable[[str], tuple[str, str] | None] = lambda name: None
    """Text and path of a file that a ConfigMap of the set mounts."""

    @property
    def engine(self) -> str:
        """``vllm``, another engine, or empty."""
        return self.launch.engine if self.launch.engine not in ("idle", "none", "ray") else ""


def _open_mounts(node: Node) -> tuple[Mount, ...]:
    """Mounts that cannot be read may be anywhere."""
    return (Mount(volume="", mount_path=""),) if node["volumeMounts"].unknown else ()


def raw_list(node: Node) -> tuple[Fact[str], ...]:
    """The items of ``command`` or ``args`` as raw texts; one text instead of a list counts as a list of one."""
    if node.unknown:
        return (unknown(node.path, WHOLE),)
    if node.is_list:
        return tuple(item.text(raw=True) for item in node.items())
    return (node.text(raw=True),) if node else ()


def _list_fact(node: Node) -> Fact[tuple[str, ...]]:
    if not node:
        return absent(node.path)
    items = raw_list(node)
    if not all(item.known for item in items):
        return unknown(node.path, "an item is not known here")
    return known(tuple(item.get() for item in items), node.path)


def read_probe(node: Node, kind: str) -> Probe:
    """One probe."""
    handler = next((key for key in _HANDLERS if node[key]), "")
    return Probe(
        kind=kind,
        path=node.path,
        http_path=node.at("httpGet", "path").text(),
        port=node[handler]["port"].text() if handler else absent(node.path),
        initial_delay=node["initialDelaySeconds"].number(),
        period=node["periodSeconds"].number(),
        failure_threshold=node["failureThreshold"].integer(),
        timeout=node["timeoutSeconds"].number(),
        grace_period=node["terminationGracePeriodSeconds"].number(),
        handler=_HANDLERS.get(handler, ""),
        silence=silence_of(raw_list(node.at("exec", "command"))) if handler == "exec" else absent(),
        command=_list_fact(node.at("exec", "command")) if handler == "exec" else absent(node.path),
    )


def read_probes(node: Node) -> Mapping[str, Probe]:
    """All probes of a container."""
    return {kind: read_probe(node[key], kind) for kind, key in _PROBES.items() if node[key].mapping or node[key].unknown}


def _pre_stop(node: Node) -> Fact[float]:
    stop = node.at("lifecycle", "preStop")
    if not stop:
        return absent(stop.path)
    if stop["sleep"]:
        return stop.at("sleep", "seconds").number()
    words = [fact.value or "" for fact in raw_list(stop.at("exec", "command"))]
    text = words[-1] if words and words[0].rsplit("/", 1)[-1] in ("sh", "bash") else " ".join(words)
    match = _SLEEP.match(text)
    return known(float(match.group(1)), stop.path) if match else unknown(stop.path, "a command whose time cannot be read")


def _ports(node: Node) -> Mapping[str, int]:
    found = {}
    for index, port in enumerate(node["ports"].items()):
        number = port["containerPort"].integer()
        if number.known:
            found[port["name"].string() or f"#{index}"] = number.get()
    return found


def mounts_of(node: Node) -> tuple[Mount, ...]:
    """The mounts of a container that can be read."""
    return tuple(
        Mount(
            volume=mount["name"].string(),
            mount_path=mount["mountPath"].string(),
            read_only=mount["readOnly"].boolean().value is True,
            sub_path=mount["subPath"].string(),
            path=mount.path,
        )
        for mount in node["volumeMounts"].items()
    )


def mounted_file(mounts: tuple[Mount, ...], volumes: Mapping[str, Node], context: Context, name: str) -> tuple[str, str] | None:
    """Text and path of a file that a ConfigMap of the set puts at ``name``."""
    for mount in mounts:
        base = mount.mount_path.rstrip("/")
        source = volumes.get(mount.volume, Node(None)).at("configMap")
        data = context.config_maps.get(source["name"].string())
        if not source or data is None:
            continue
        if mount.sub_path and name == base:
            wanted = mount.sub_path
        elif not mount.sub_path and name.startswith(base + "/"):
            wanted = name[len(base) + 1 :]
        else:
            continue
        renamed = {item["path"].string(): item["key"].string() for item in source["items"].items()}
        fact = data.get(renamed.get(wanted, wanted), Fact())
        if fact.known:
            return fact.get(), mount.path
    return None


def _amounts(node: Node) -> Mapping[str, Fact[str]]:
    """Amounts by resource; where the whole mapping cannot be read, one unknown amount of a resource without a name."""
    return node.facts() or (
        {"": unknown(node.path, "not a mapping that can be read now")}
        if node and (node.unknown or not isinstance(node.value, Mapping))
        else {}
    )


def security_of(context: Node) -> Mapping[str, Fact[str]]:
    """The fields of a security context as text: members of parts with a dot, lists with commas."""
    if context and not isinstance(context.value, Mapping):
        return {"": unknown(context.path, "not a mapping that can be read now")}
    plain = {name: fact for name, fact in context.facts().items() if not isinstance(context[name].value, Mapping)}
    seccomp, capabilities = context["seccompProfile"], context["capabilities"]
    kept = {"seccompProfile.type": seccomp["type"].text()} if seccomp else {}
    for name in ("add", "drop"):
        listed = capabilities[name]
        if listed:
            texts = [item.text() for item in listed.items()]
            whole = listed.is_list and all(text.known for text in texts)
            joined = ",".join(text.get() for text in texts) if whole else ""
            kept[f"capabilities.{name}"] = known(joined, listed.path) if whole else unknown(listed.path, "not a list that can be read")
    return {**plain, **kept}


def read_container(node: Node, volumes: Mapping[str, Node], context: Context, init: bool = False) -> Read:
    """Facts of one container and the engine it starts."""
    environment = read_environment(node, context.config_maps, context.injected)
    reference = _reference(node["image"], context)
    image = read_image(reference, node["image"].string())
    mounts = (*mounts_of(node), *_open_mounts(node))

    def file(name: str) -> tuple[str, str] | None:
        return mounted_file(mounts, volumes, context, name)

    launch, arguments = _launch(node, commands.CommandContext(environment, file, image))
    resources = node["resources"]
    container = Container(
        name=node["name"].string(),
        role=Role.INIT if init else Role.ENGINE if launch.engine == "vllm" else Role.SIDECAR,
        path=node.path,
        image=reference,
        command=_list_fact(node["command"]),
        args=_list_fact(node["args"]),
        requests=_amounts(resources["requests"]),
        limits=_amounts(resources["limits"]),
        claims=tuple(claim["name"].string() for claim in resources["claims"].items()),
        env=environment.values,
        env_from=environment.open,
        env_sources=environment.sources,
        probes=read_probes(node),
        ports=_ports(node),
        ports_open=any(port["name"].unknown or port["containerPort"].unknown for port in node["ports"].items()) or node["ports"].unknown,
        mounts=mounts,
        pre_stop=_pre_stop(node),
        security=security_of(node["securityContext"]),
    )
    return Read(container, launch, environment, image, arguments, file)


def _reference(node: Node, context: Context) -> Fact[str]:
    reference = node.text()
    if reference.known and is_placeholder(reference.get()):
        return unknown(reference.path, f"a placeholder: {reference.get()[:80]}")
    return reference.map(lambda text: _transformed(text, context))


def _launch(node: Node, surroundings: commands.CommandContext) -> tuple[Launch, Arguments]:
    environment, image = surroundings.environment, surroundings.image
    command, args = (commands.words_of(raw_list(node[key]), environment) for key in ("command", "args"))
    launch = commands.find_launch(command, args, surroundings)
    arguments = read_arguments(launch.words) if launch.engine in ("vllm", "") else Arguments()
    launch = settle(launch, image, arguments)
    if launch.entrypoint == "script" and not node["ports"] and not _accelerated(node["resources"]) and image.vendor != "cpu":
        # A script in an engine's image that serves on no port and has no accelerator is a client or a helper.
        launch = replace(launch, engine="idle")
    return launch, arguments


def _transformed(text: str, context: Context) -> str:
    """The image that kustomize makes of this one."""
    head, slash, last = text.partition("@")[0].rpartition("/")
    return context.images.get(f"{head}{slash}{last.partition(':')[0]}", text) if context.images else text


def _accelerated(resources: Node) -> bool:
    names = [name for key in ("limits", "requests") for name, _ in resources[key].fields()]
    return vendor_of(names) is not None or resources["claims"].is_list


def settle(launch: Launch, image: Image, arguments: Arguments) -> Launch:
    """Decides the engine where the command does not say it: by the image, else by flags that only vLLM has."""
    names = {flag.name for flag in arguments.flags}
    if launch.engine == "vllm" and "omni" in names:
        # vllm-omni adds this switch to vLLM's command: it runs stages of its own, with arguments of its own.
        return replace(launch, engine="vllm-omni")
    if launch.engine:
        return launch
    if image.engine not in ("", "ray"):
        return replace(launch, engine=image.engine)
    if len(names & _TYPICAL) >= 2 and not names & _FOREIGN:
        return replace(launch, engine="vllm", entrypoint=launch.entrypoint or "image", complete=False)
    return launch


def volume_nodes(spec: Node) -> Mapping[str, Node]:
    """Pod volumes by name."""
    return {volume["name"].string(): volume for volume in spec["volumes"].items()}


def read_volume(node: Node) -> Volume:
    """One pod volume."""
    kind = next((key for key, value in node.fields() if key != "name" and value), "emptyDir")
    source = node[kind]
    return Volume(
        name=node["name"].string(),
        kind=kind,
        path=node.path,
        claim=source["claimName"].string() if kind == "persistentVolumeClaim" else "",
        medium=source["medium"].string(),
        size_limit=source["sizeLimit"].size(),
        host_path=source["path"].string() if kind == "hostPath" else "",
    )
