"""GPU nodes: Karpenter pools, and device plugin configurations that share cards."""

from collections.abc import Iterator

from interlock.infra.catalog.accelerators import accelerator
from interlock.infra.facts import Fact, Pool, SharingConfig, known
from interlock.infra.recognise.accelerators import gpu_family, gpu_of, product_fact
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin

_IGNORED = ("rename", "devices")
_LONGEST = 100_000


def read_node_pool(root: Node, document: Document, context: Context) -> Iterator[Pool]:
    """A Karpenter NodePool (or its predecessor, Provisioner) that allows GPU nodes."""
    spec = root.at("spec", "template", "spec") if root["kind"].string() == "NodePool" else root["spec"]
    labels: dict[str, Fact[str]] = {}
    families: list[str] = []
    for requirement in spec["requirements"].items():
        key = requirement["key"].string()
        values = [value.string() for value in requirement["values"].items()]
        labels[key] = known(",".join(values), requirement.path)
        if key.endswith(("instance-family", "instance-type")) and requirement["operator"].string() == "In":
            families.extend(values)
    labels |= root.at("spec", "template", "metadata", "labels").facts()
    taints = tuple(taint["key"].string() for taint in spec["taints"].items())
    if not _for_gpus(labels, families, taints):
        return
    source = origin(root, document)
    limits = root.at("spec", "limits", "resources") if root.at("spec", "limits", "resources") else root.at("spec", "limits")
    yield Pool(
        origin=source,
        name=source.name,
        gpu=product_fact(gpu_of(labels)),
        labels=labels,
        taints=taints,
        limits=limits.facts(),
        families=tuple(dict.fromkeys(families)),
    )


def _for_gpus(labels: dict[str, Fact[str]], families: list[str], taints: tuple[str, ...]) -> bool:
    named = any("instance-gpu" in key or "gpu-count" in key or "instance-accelerator" in key for key in labels)
    category = next((fact.value or "" for key, fact in labels.items() if key.endswith("instance-category")), "")
    whole = bool(category) and set(category.split(",")) <= {"g", "p", "gr"}
    return named or whole or any(gpu_family(family) for family in families) or any(map(accelerator, taints))


def read_sharing(root: Node, document: Document, context: Context) -> Iterator[SharingConfig]:
    """The sharing sections of a device plugin's ConfigMap."""
    source = origin(root, document)
    for name, node in root["data"].fields():
        text = node.string()
        if len(text) > _LONGEST or ("timeSlicing" not in text and "mps" not in text) or "replicas" not in text:
            continue
        loaded = context.load(node)
        for key, strategy in (("timeSlicing", "time-slicing"), ("mps", "mps")):
            section = loaded.at("sharing", key)
            for entry in section["resources"].items():
                ignored = tuple(field for field in _IGNORED if entry[field])
                resource, count = entry["name"].text(), entry["replicas"].integer()
                renamed = f"{resource.get()}.shared" if section["renameByDefault"].boolean().value and resource.known else ""
                yield SharingConfig(source, strategy, resource, count, ignored, entry.path, name, renamed)
