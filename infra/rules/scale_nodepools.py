"""Node pools of an autoscaler, and how device plugins share cards."""

import re
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Pool
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.rule import Hit, Rule, Settings

_AUTOSCALED = ("NodePool", "Provisioner")


def _gpu_pools(bundle: Bundle) -> Iterable[Pool]:
    return (pool for pool in bundle.pools if pool.origin.kind in _AUTOSCALED)


def limit(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """SCALE-010: a pool that makes GPU nodes has a limit on GPUs."""
    for pool in _gpu_pools(bundle):
        if not any("gpu" in name.lower() for name in pool.limits):
            what = f"limits name only {', '.join(pool.limits)}" if pool.limits else "it has no limits"
            text = f"NodePool {pool.name} makes GPU nodes and {what}: a scaling error buys GPUs without end"
            yield Hit("spec.limits", text, "add limits with nvidia.com/gpu", origin=pool.origin)


def taint(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """SCALE-011: GPU nodes are kept free of other pods by a taint."""
    for pool in _gpu_pools(bundle):
        if not pool.taints:
            text = f"NodePool {pool.name} makes GPU nodes without a taint: any pod may hold them (and keep them from going)"
            yield Hit("spec.template.spec.taints", text, "add the taint nvidia.com/gpu with effect NoSchedule", origin=pool.origin)


def families(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """SCALE-012: a GPU pool allows only families with a GPU that today's vLLM runs on."""
    old, without = re.compile(str(settings["old"])), re.compile(str(settings["without_gpu"]))
    for pool in _gpu_pools(bundle):
        for pattern, what in ((old, "has a GPU that today's vLLM does not run on"), (without, "has no NVIDIA GPU")):
            found = [family for family in pool.families if pattern.match(family)]
            if found:
                text = f"NodePool {pool.name} allows {', '.join(found)}, which {what}"
                yield Hit("spec.template.spec.requirements", text, "leave these families out", ",".join(found), origin=pool.origin)


def empty(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """GPU-019: nodes of a GPU pool advertise GPUs."""
    for pool in bundle.pools:
        if pool.gpus_per_node.known and pool.gpus_per_node.get() < 1 and pool.origin.kind not in _AUTOSCALED:
            text = f"nodes of pool {pool.name} advertise 0 {pool.resource}: no pod that asks for one is scheduled"
            remedy = "start the driver before the device plugin (restart the plugin once the driver is up)"
            yield Hit(pool.gpus_per_node.path or pool.origin.path or pool.name, text, remedy, "0", origin=pool.origin)


def sharing(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    """GPU-020: a sharing config does what it says."""
    for config in bundle.sharing:
        if config.replicas.known and config.replicas.get() < 2:
            text = f"{config.strategy} replicas {config.replicas.get()}: the plugin wants at least 2"
            yield Hit(config.replicas.path or config.path, text, "set replicas 2 to 4, or take the entry away", origin=config.origin)
        for name in config.ignored:
            text = f"the field {name} is read and ignored by the device plugin"
            yield Hit(f"{config.path}.{name}", text, "take it away (renameByDefault is the one that works)", name, origin=config.origin)
        if config.replicas.known and config.replicas.get() > int(settings["most"]):
            text = f"{config.replicas.get()} shares of one card: each has {100 / config.replicas.get():.0f} % of its memory at best"
            level = Severity.WARNING
            yield Hit(config.replicas.path or config.path, text, "use 2 to 4 shares", origin=config.origin, severity=level)


RULES = (
    Rule(
        code="SCALE-010",
        severity=Severity.WARNING,
        demand="A pool that makes GPU nodes has a limit on GPUs.",
        reason="GPU nodes are the most expensive mistake an autoscaler can make.",
        source="karpenter.sh documentation, 'NodePools' (spec.limits)",
        remedy="Add limits with nvidia.com/gpu.",
        fault="nodepool-no-gpu-limit",
        links=("https://karpenter.sh/docs/concepts/nodepools/#speclimits",),
        bundle=limit,
    ),
    Rule(
        code="SCALE-011",
        severity=Severity.WARNING,
        demand="GPU nodes carry a taint.",
        reason="Other pods fill their CPU and memory, so GPUs stay unused and nodes are never empty.",
        source="karpenter.sh documentation, 'NodePools' (taints); Kubernetes documentation, 'Taints and Tolerations'",
        remedy="Add a NoSchedule taint.",
        fault="nodepool-no-taint",
        links=("https://karpenter.sh/docs/concepts/nodepools/#spectemplatespectaints",),
        bundle=taint,
    ),
    Rule(
        code="SCALE-012",
        severity=Severity.WARNING,
        demand="A GPU pool allows only families with a GPU that today's vLLM runs on.",
        reason="The cheapest family wins, and the engine then finds no device or no kernels (K80, M60, V100).",
        source="AWS documentation, 'Accelerated computing instances'; compute capabilities of the vLLM 0.33 wheel's binaries",
        remedy="Leave these families out.",
        fault="nodepool-old-families",
        bundle=families,
        settings={"old": r"(p2|p3|p3dn|g2|g3|g3s)(\.|$)", "without_gpu": r"(g4ad|g5g|dl1|dl2q|inf1|inf2|trn1|trn1n|vt1|f1)(\.|$)"},
    ),
    Rule(
        code="GPU-019",
        severity=Severity.ERROR,
        demand="Nodes of a GPU pool advertise GPUs.",
        reason="The scheduler sees none, so pods stay Pending although the cards are there.",
        source="NVIDIA/k8s-device-plugin#414, #585",
        remedy="Restart the plugin once the driver is up.",
        fault="unschedulable",
        bundle=empty,
    ),
    Rule(
        code="GPU-020",
        severity=Severity.ERROR,
        demand="A sharing config of the device plugin does what it says.",
        reason="The plugin refuses fewer than two replicas and silently ignores rename and devices.",
        source="NVIDIA/k8s-device-plugin api/config/v1/replicas.go and sharing.go",
        remedy="Use replicas from 2 to 4 and the fields that work.",
        links=("https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus",),
        bundle=sharing,
        settings={"most": 8},
    ),
)
