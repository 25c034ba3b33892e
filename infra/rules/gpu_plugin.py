"""The device plugin: nodes that advertise GPUs, and a sharing config that does what it says."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Fact, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.units import counted, engine_containers, pool_text
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.rules.scale_nodepools import AUTOSCALED


@rule(
    "GPU-019",
    Severity.ERROR,
    demand="Nodes of a GPU pool advertise GPUs.",
    reason="The scheduler sees none, so pods stay Pending although the cards are there.",
    source="NVIDIA/k8s-device-plugin#414, #585",
    remedy="Restart the plugin once the driver is up.",
    fault="unschedulable",
    of="bundle",
)
def empty(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in bundle.pools:
        if pool.gpus_per_node.known and pool.gpus_per_node.get() < 1 and pool.origin.kind not in AUTOSCALED:
            text = f"nodes of {pool_text(pool)} advertise 0 {pool.resource}: no pod that asks for one is scheduled"
            remedy = "start the driver before the device plugin (restart the plugin once the driver is up)"
            yield Hit(pool.gpus_per_node.path or pool.origin.path or pool.name, text, remedy, "0", origin=pool.origin)


@rule(
    "GPU-020",
    Severity.ERROR,
    demand="A sharing config of the device plugin does what it says.",
    reason="The plugin refuses fewer than two replicas and silently ignores rename and devices.",
    source="NVIDIA/k8s-device-plugin api/config/v1/replicas.go and sharing.go",
    remedy="Use replicas from 2 to 4 and the fields that work.",
    links=("https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus",),
    settings={"most": 8},
    of="bundle",
)
def sharing(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for config in bundle.sharing:
        if config.replicas.known and config.replicas.get() < 2:
            text = f"{config.strategy} replicas {config.replicas.get()}: the device plugin needs at least 2"
            yield Hit(
                config.replicas.path or config.path,
                text,
                "set replicas to 2 (up to 4), or remove the entry",
                origin=config.origin,
                fixes=put(config.replicas.path, 2),
            )
        for name in config.ignored:
            text = f"the field {name} is read and ignored by the device plugin"
            yield Hit(
                f"{config.path}.{name}",
                text,
                "remove it (renameByDefault is the field that works)",
                name,
                origin=config.origin,
                fixes=drop(f"{config.path}.{name}"),
            )
        if config.replicas.known and config.replicas.get() > int(settings["most"]):
            text = f"{config.replicas.get()} shares of one card: each has {100 / config.replicas.get():.0f} % of its memory at best"
            level = Severity.WARNING
            yield Hit(config.replicas.path or config.path, text, "use 2 to 4 shares", origin=config.origin, severity=level)


_PICKS = "nvidia.com/device-plugin.config"


@rule(
    "GPU-109",
    Severity.ERROR,
    demand="A pod on nodes that rename their shared cards asks for the new name.",
    reason="With renameByDefault such a node offers nvidia.com/gpu.shared and no nvidia.com/gpu: the pod stays Pending.",
    source="NVIDIA/k8s-device-plugin README, 'Shared Access to GPUs' (renameByDefault); NVIDIA/k8s-device-plugin#321",
    remedy="Ask for nvidia.com/gpu.shared.",
    fault="shared-resource-renamed",
    links=("https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus",),
)
def renamed(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pod, container in engine_containers(workload):
        picked, units = pod.node_selector.get(_PICKS, Fact()), counted(container)
        if units is None or not picked.known:
            continue
        for config in bundle.sharing:
            own = config.renamed and config.config == picked.get() and config.resource.value == units.resource
            if own and (config.replicas.value or 2) > 1:
                text = f"nodes with the configuration {picked.get()} offer {config.renamed} and no {units.resource}"
                yield Hit(units.count.path, text, f"ask for {config.renamed} instead", units.resource)


@rule(
    "GPU-026",
    Severity.WARNING,
    demand="One part of the cluster hands out the cards of a resource: the device plugin, or a DeviceClass.",
    reason="Both count the same cards, so two pods get one; of two classes of one name the later counts.",
    source="k8s.io/api resource/v1 types.go, DeviceClassSpec.ExtendedResourceName (1.37); KEP-5004: a node must not have both",
    remedy="Take the plugin off the nodes whose cards a DeviceClass hands out.",
    fault="dra-beside-plugin",
    links=("https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource",),
    of="bundle",
)
def one_source(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    first: dict[str, str] = {}
    plugins = {plugin.resource: plugin for plugin in bundle.device_plugins}
    for each in bundle.device_classes:
        if not each.resource.known:
            continue
        resource, name = each.resource.get(), each.origin.name
        plugin, other = plugins.get(resource), first.setdefault(resource, name)
        if plugin:
            text = f"DeviceClass {name} hands out {resource}, and the device plugin {plugin.origin.name} advertises it too"
            remedy = "keep the plugin off the nodes of the DRA driver (nodeSelector), or remove extendedResourceName"
            yield Hit(each.resource.path, text, remedy, resource, origin=each.origin)
        if other != name:
            text = f"DeviceClass {other} and {name} both hand out {resource}: the one that was made later counts"
            yield Hit(each.resource.path, text, "keep extendedResourceName in one of them", resource, origin=each.origin)
