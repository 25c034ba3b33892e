"""Pod templates: containers, volumes, placement."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from interlock.infra.facts import Container, Device, Fact, Pod, Role, Volume, known
from interlock.infra.recognise.accelerators import gpu_of, vendor_of
from interlock.infra.recognise.containers import Read, read_container, read_volume, security_of, volume_nodes
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Node
from interlock.infra.recognise.supervised import is_preflight

_ONE: Fact[int] = Fact()


@dataclass(frozen=True, slots=True)
class PodRead:
    """A pod template with what its containers start."""

    pod: Pod
    reads: tuple[Read, ...]
    gpu: Fact[str]
    """GPU that its node labels ask for."""

    @property
    def engines(self) -> tuple[Read, ...]:
        """Containers that start vLLM."""
        return tuple(read for read in self.reads if read.container.role is Role.ENGINE)


def read_pod(spec: Node, metadata: Node, context: Context, role: str = "", count: Fact[int] = _ONE) -> PodRead:
    """One pod spec with its template's metadata."""
    volumes = volume_nodes(spec)
    reads = [read_container(node, volumes, context) for node in spec["containers"].items()]
    for node in spec["initContainers"].items():
        reads.append(read_container(node, volumes, context, init=node["restartPolicy"].string() != "Always"))
    reads = [replace(read, container=_with_user(read.container, spec["securityContext"])) for read in reads]
    reads = _with_devices(reads, spec, context)
    preflight = next((read.container for read in reads if is_preflight(read.container)), None)
    reads = [read for read in reads if read.container is not preflight]
    labels = _node_labels(spec)
    pod = Pod(
        path=spec.path,
        role=role,
        count=count,
        containers=tuple(read.container for read in reads),
        preflight=preflight,
        open=any(node.unknown for node in (spec, spec["containers"], spec["nodeSelector"], *spec["containers"].items())),
        volumes=tuple(read_volume(node) for node in spec["volumes"].items()),
        node_selector=spec["nodeSelector"].facts(),
        affinity=_bound(spec),
        apart=_apart(spec, metadata),
        tolerations=_tolerations(spec),
        host_ipc=spec["hostIPC"].boolean().value is True,
        host_network=spec["hostNetwork"].boolean().value is True,
        service_links=spec["enableServiceLinks"].boolean(),
        grace_period=spec["terminationGracePeriodSeconds"].number(),
        runtime_class=spec["runtimeClassName"].text(),
        priority_class=spec["priorityClassName"].text(),
        own_users=spec["hostUsers"].boolean().value is False,
        service_account_token=spec["automountServiceAccountToken"].boolean(),
        labels=metadata["labels"].texts(),
        annotations=metadata["annotations"].texts(),
    )
    return PodRead(pod, tuple(reads), gpu_of(labels))


_OF_POD = ("runAsUser", "runAsGroup", "runAsNonRoot", "seccompProfile.type", "")


def _with_user(container: Container, context: Node) -> Container:
    """The container with what its pod's security context states for all, where it states none of its own."""
    stated = security_of(context)
    shared = {name: stated[name] for name in _OF_POD if name in stated and name not in container.security}
    return replace(container, security={**container.security, **shared}) if shared else container


def _with_devices(reads: list[Read], spec: Node, context: Context) -> list[Read]:
    """The containers with what their resource claims allocate."""
    if not spec["resourceClaims"]:
        return reads
    claims = {claim["name"].string(): claim for claim in spec["resourceClaims"].items()}
    nodes = [*spec["containers"].items(), *spec["initContainers"].items()]
    return [
        replace(read, container=replace(read.container, devices=tuple(_devices(node.at("resources", "claims"), claims, context))))
        for read, node in zip(reads, nodes, strict=True)
    ]


def _devices(used: Node, claims: Mapping[str, Node], context: Context) -> Iterator[Device]:
    for use in used.items():
        name, wanted = use["name"].string(), use["request"].string()
        claim = claims.get(name)
        if claim is None:
            continue
        own = claim["resourceClaimName"].string()
        kind = ("ResourceClaim", own) if own else ("ResourceClaimTemplate", claim["resourceClaimTemplateName"].string())
        for request in context.device_claims.get(kind, ()):
            if wanted in ("", request.name):
                count = replace(request.count, path=claim.path)
                yield Device(name, request.name, request.device_class, count, request.profile, of_all_pods=bool(own))


def _bound(spec: Node) -> bool:
    """Whether a pod says itself on which nodes it may run; a spread that is only preferred does not."""
    hard = any(each["whenUnsatisfiable"].string() != "ScheduleAnyway" for each in spec["topologySpreadConstraints"].items())
    return bool(spec.at("affinity", "nodeAffinity") or hard or spec["nodeName"])


def _apart(spec: Node, metadata: Node) -> bool:
    """Whether its own labels keep a second pod of it from the same node."""
    labels = metadata["labels"].texts()
    for term in spec.at("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution").items():
        chosen = term.at("labelSelector", "matchLabels").texts()
        plain = chosen and not term.at("labelSelector", "matchExpressions") and not term["matchLabelKeys"]
        if term["topologyKey"].string() == "kubernetes.io/hostname" and plain and all(labels.get(k) == v for k, v in chosen.items()):
            return True
    return False


def _tolerations(spec: Node) -> tuple[str, ...]:
    keys = ["*"] if spec["tolerations"].unknown else []
    for toleration in spec["tolerations"].items():
        if toleration.unknown or toleration["key"].unknown:
            return ("*",)  # What cannot be read may tolerate anything.
        key = toleration["key"].string()
        keys.append(key or ("*" if toleration["operator"].string() == "Exists" else ""))
    return tuple(key for key in keys if key)


def _node_labels(spec: Node) -> Mapping[str, Fact[str]]:
    """Labels that a node must have: the selector, and required affinity with one term."""
    labels = dict(spec["nodeSelector"].facts())
    terms = list(spec.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").items())
    for term in terms if len(terms) == 1 else ():
        for expression in term["matchExpressions"].items():
            values = [value.text() for value in expression["values"].items()]
            if expression["operator"].string() == "In" and values and all(value.known for value in values):
                labels.setdefault(expression["key"].string(), known(",".join(value.get() for value in values), expression.path))
    return labels


def claim_volumes(templates: Node) -> tuple[Volume, ...]:
    """The claims of ``volumeClaimTemplates``: one per replica."""
    return tuple(
        Volume(name=node.at("metadata", "name").string(), kind="volumeClaimTemplate", path=node.path) for node in templates.items()
    )


def promoted(read: PodRead) -> PodRead:
    """A pod of an engine group (worker, Ray node): the containers that ask for accelerators are part of the engine."""
    reads = tuple(replace(item, container=_as_engine(item)) for item in read.reads)
    return PodRead(replace(read.pod, containers=tuple(item.container for item in reads)), reads, read.gpu)


def _as_engine(read: Read) -> Container:
    container = read.container
    accelerated = vendor_of((*container.limits, *container.requests)) is not None or bool(container.claims)
    return replace(container, role=Role.ENGINE) if accelerated and container.role is Role.SIDECAR else container
