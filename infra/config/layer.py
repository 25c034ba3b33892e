"""What the GPU layer of a stack does not do, and a pool counts on."""

from collections.abc import Iterator

from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.config.platform import GpuLayerKind
from interlock.infra.config.pools import Sharing

DISCOVERED = ("nvidia.com/gpu.", "nvidia.com/mig.", "nvidia.com/cuda.", "nvidia.com/mps.")
"""Beginnings of labels that GPU feature discovery writes."""


def undone(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """(path, problem) of pools that need what nobody in the cluster does: MIG layouts that nobody applies, labels that nobody writes."""
    layer = config.platform.gpu_layer
    if layer.kind is not GpuLayerKind.DEVICE_PLUGIN or config.scope is Scope.SERVING:
        return
    for index, pool in enumerate(config.pools):
        if pool.share.kind is Sharing.MIG and layer.mig is None:
            told = "the device plugin advertises MIG instances, and makes none"
            way = "say who does in platform.gpu_layer.mig: manager (NVIDIA's MIG manager, which reads our ConfigMap) or prepared"
            yield f"pools[{index}].share.kind", f"{told}: {way}"
        written = [key for key in pool.labels if key.startswith(DISCOVERED)]
        if written and not layer.discovery:
            told = "is written by GPU feature discovery, which this layer does not run: no node carries it, and pods stay Pending"
            yield (
                f"pools[{index}].labels.{written[0]}",
                f"{told}. Set platform.gpu_layer.discovery: true where it runs, or remove the label",
            )
