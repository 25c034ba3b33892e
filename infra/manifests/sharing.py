"""How cards are shared, for a GPU layer that is installed already: what its device plugin and its MIG manager read."""

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.bundles import drafts, shared_classes
from interlock.infra.manifests.common import MANAGED_BY, manifest
from interlock.infra.manifests.device_plugin import plugin_pools
from interlock.infra.manifests.mig import mig_objects
from interlock.infra.manifests.plugin_config import placed_configs, plugin_configs
from interlock.infra.manifests.sets import GpuLayerObjects
from interlock.infra.naming import joined, label


def sharing_objects(config: ClusterConfig, stack: str) -> GpuLayerObjects:
    """A ConfigMap with the device plugin's configs by class, and one with the MIG layouts where a pool uses MIG.

    Their names are fixed: the layer's own settings refer to them.
    """
    layer, pools = config.platform.gpu_layer, plugin_pools(config)
    names = {"app.kubernetes.io/managed-by": MANAGED_BY, label("stack"): stack}
    plugin = manifest(
        "v1", "ConfigMap", joined(stack, "gpu-sharing"), layer.home, names, data=placed_configs(config, plugin_configs(pools, layer))
    )
    return GpuLayerObjects(
        drafts("platform.gpu_layer", (plugin, *mig_objects(config, stack))), classes=shared_classes(config), namespace=layer.home
    )
