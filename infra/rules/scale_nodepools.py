"""Node pools of an autoscaler."""

import re
from collections.abc import Iterable

from interlock.infra.facts import Bundle, Pool
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.rule import Hit, Settings, rule

AUTOSCALED = ("NodePool", "Provisioner")
"""Kinds by which an autoscaler makes nodes."""


def _gpu_pools(bundle: Bundle) -> Iterable[Pool]:
    return (pool for pool in bundle.pools if pool.origin.kind in AUTOSCALED)


@rule(
    "SCALE-010",
    Severity.WARNING,
    demand="A pool that makes GPU nodes has a limit on GPUs.",
    reason="GPU nodes are the most expensive mistake an autoscaler can make.",
    source="karpenter.sh documentation, 'NodePools' (spec.limits)",
    remedy="Add limits with nvidia.com/gpu.",
    fault="nodepool-no-gpu-limit",
    links=("https://karpenter.sh/docs/concepts/nodepools/#speclimits",),
    of="bundle",
)
def limit(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in _gpu_pools(bundle):
        if not any("gpu" in name.lower() for name in pool.limits):
            what = f"limits name only {', '.join(pool.limits)}" if pool.limits else "it has no limits"
            text = f"NodePool {pool.name} makes GPU nodes and {what}: nothing caps the GPUs it may provision"
            yield Hit("spec.limits", text, "add limits with nvidia.com/gpu", origin=pool.origin)


@rule(
    "SCALE-011",
    Severity.WARNING,
    demand="GPU nodes carry a taint.",
    reason="Other pods fill their CPU and memory, so GPUs stay unused and nodes are never empty.",
    source="karpenter.sh documentation, 'NodePools' (taints); Kubernetes documentation, 'Taints and Tolerations'",
    remedy="Add a NoSchedule taint.",
    fault="nodepool-no-taint",
    links=("https://karpenter.sh/docs/concepts/nodepools/#spectemplatespectaints",),
    of="bundle",
)
def taint(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pool in _gpu_pools(bundle):
        if not pool.taints:
            text = f"NodePool {pool.name} makes GPU nodes without a taint: pods without GPU needs can land there and block scale-down"
            yield Hit("spec.template.spec.taints", text, "add the taint nvidia.com/gpu with effect NoSchedule", origin=pool.origin)


@rule(
    "SCALE-012",
    Severity.WARNING,
    demand="A GPU pool allows only families with a GPU that today's vLLM runs on.",
    reason="The cheapest family wins, and the engine then finds no device or no kernels (K80, M60, V100).",
    source="AWS documentation, 'Accelerated computing instances'; compute capabilities of the vLLM 0.33 wheel's binaries",
    remedy="Leave these families out.",
    fault="nodepool-old-families",
    settings={"old": r"(p2|p3|p3dn|g2|g3|g3s)(\.|$)", "without_gpu": r"(g4ad|g5g|dl1|dl2q|inf1|inf2|trn1|trn1n|vt1|f1)(\.|$)"},
    of="bundle",
)
def families(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    old, without = re.compile(str(settings["old"])), re.compile(str(settings["without_gpu"]))
    for pool in _gpu_pools(bundle):
        for pattern, what in ((old, "has a GPU that today's vLLM does not run on"), (without, "has no NVIDIA GPU")):
            found = [family for family in pool.families if pattern.match(family)]
            if found:
                text = f"NodePool {pool.name} allows {', '.join(found)}, which {what}"
                yield Hit("spec.template.spec.requirements", text, "remove these families", ",".join(found), origin=pool.origin)
