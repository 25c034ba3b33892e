"""Names of GPUs and models that nobody knows: told with the nearest ones, or accepted with the facts that stand in for them."""

from collections.abc import Iterator, Mapping

from interlock.infra.catalog.gpus import gpu
from interlock.infra.catalog.models import find
from interlock.infra.catalog.near import near_gpus, near_models
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.models import ImageTrack, ModelConfig
from interlock.infra.sizing import missing_shapes


def unknown_names(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """(path, problem) of every GPU and model of which nothing is known, so that its memory could not be planned."""
    for index, pool in enumerate(config.pools):
        if gpu(pool.gpu) is None and pool.gpu_memory is None:
            text = f"{pool.gpu!r} is not a GPU of the catalog{near_gpus(pool.gpu)}; for another one state pools[{index}].gpu_memory too"
            yield f"pools[{index}].gpu", text
    for index, server in enumerate(config.servers):
        model = server.model
        if isinstance(model.config, Mapping) and not model.unsized and (missing := missing_shapes(model.config)):
            text = f"does not say the shapes of a model ({', '.join(missing)}), so its memory cannot be planned"
            yield f"servers[{index}].model.config", f"{text}: give the model's own config.json, or set model.unsized to a reason"
        if isinstance(model.config, str):
            yield f"servers[{index}].model.config", f"{model.config!r} was not read: give the content of the config.json here"
        elif server.track is not ImageTrack.CPU and not _described(model):
            base = f"servers[{index}].model"
            yield (
                f"{base}.id",
                f"{model.id!r} is not in the catalog{near_models(model.id)}, so its memory cannot be planned; "
                f"set {base}.config to its config.json, or {base}.weights_gib, or {base}.unsized to a reason",
            )


def _described(model: ModelConfig) -> bool:
    return bool(model.config is not None or model.weights_gib or model.unsized or find(model.id))
