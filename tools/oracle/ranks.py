"""One rank of a deployment, built by vLLM's own code: configuration, parallel state, model on the meta device, KV cache specs."""

import inspect
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.fx.experimental._config as fx_config
import vllm.distributed.parallel_state as ps
from torch.testing._internal.distributed.fake_pg import FakeStore
from vllm.config import get_layers_from_vllm_config, replace, set_current_vllm_config
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.model_executor.models import registry
from vllm.platforms import current_platform

from tools.oracle.fake_gpu import CARDS

NO_DRAFT_MODEL = ("ngram", "ngram_gpu", "suffix")


class Refused(Exception):
    """vLLM refused while it resolved the configuration, built the model or listed the KV specs (`stage`)."""

    def __init__(self, stage: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.stage, self.cause = stage, cause


@dataclass
class Rank:
    """What one rank would hold."""

    config: Any
    model: Any
    draft: Any
    specs: dict[str, Any]
    layouts: list[str]


class OnMeta(torch.overrides.TorchFunctionMode):
    """Every tensor on the meta device, also where a layer asks for the GPU by name or number."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        if device is not None and (isinstance(device, int) or str(device).startswith("cuda")):
            kwargs["device"] = "meta"
        return func(*("meta" if _is_cuda(a) else a for a in args), **kwargs)


def _is_cuda(argument: Any) -> bool:
    if isinstance(argument, torch.device):
        return argument.type == "cuda"
    return isinstance(argument, str) and argument.startswith("cuda")


def patch() -> None:
    """The process group of torch's tests, no device communicators, model inspection in this process."""
    torch._dynamo.config.disable = True  # wrapping functions for compilation is half of a model's construction
    registry._run_in_subprocess = lambda function: function()
    fx_config.meta_nonzero_assume_all_nonzero = True  # 0.26.0 calls nonzero on a (meta) expert map for a log line
    type(current_platform).device_count = classmethod(lambda _: CARDS)
    new_group = dist.new_group

    def fake_group(ranks: Any = None, timeout: Any = None, backend: Any = None, **kwargs: Any) -> Any:
        return new_group(ranks, backend="fake")

    dist.new_group = dist.distributed_c10d.new_group = fake_group
    original = ps.GroupCoordinator.__init__

    def without_communicators(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(original).bind(self, *args, **kwargs)
        bound.arguments["use_device_communicator"] = False
        bound.arguments["use_message_queue_broadcaster"] = False
        original(*bound.args, **bound.kwargs)

    ps.GroupCoordinator.__init__ = without_communicators
    ps._node_count = lambda _: 1
    _no_expert_map_text()
    ps.in_the_same_node_as = lambda *_, **__: [True] * dist.get_world_size()


def _no_expert_map_text() -> None:
    """A log line of some versions reads the (meta) expert map's values."""
    try:
        from vllm.model_executor.layers.fused_moe.expert_map_manager import ExpertMapManager
    except ImportError:
        return
    ExpertMapManager.get_compressed_map_string = lambda _: ""


def engine_args(folder: Path, fixed: dict[str, Any], arguments: dict[str, Any]) -> EngineArgs:
    """Engine arguments for a model folder; a draft that is one of our folders is named by its path."""
    arguments = {**fixed, **arguments}
    if config := arguments.get("speculative_config"):
        draft = folder.parent / str(config.get("model"))
        arguments["speculative_config"] = config | ({"model": str(draft)} if draft.is_dir() else {})
    return EngineArgs(model=str(folder), load_format="dummy", skip_tokenizer_init=True, generation_config="vllm", **arguments)


def build(args: EngineArgs, rank: int) -> Rank:
    """The model of one rank with its KV specs. Raises Refused."""
    try:
        config = args.create_engine_config()
    except Exception as error:
        raise Refused("config", error) from error
    with set_current_vllm_config(config):
        _parallel(config, rank)
        torch.set_default_dtype(config.model_config.dtype)
        _workspace()
        try:
            with torch.device("meta"), OnMeta():
                model = initialize_model(config)
                speculative = config.speculative_config
                draft = _draft(config) if speculative is not None and speculative.method not in NO_DRAFT_MODEL else None
        except Exception as error:
            raise Refused("build", error) from error
        try:
            current_platform.update_block_size_for_backend(config)
            return Rank(config, model, draft, _specs(config), _layouts(config))
        except Exception as error:
            raise Refused("kv spec", error) from error


def _parallel(config: Any, rank: int) -> None:
    if dist.is_initialized():
        ps.destroy_model_parallel()
        ps._WORLD = None
        dist.destroy_process_group()
    parallel = config.parallel_config
    dist.init_process_group(backend="fake", rank=rank, world_size=parallel.world_size, store=FakeStore())
    ps.init_distributed_environment(parallel.world_size, rank, "tcp://127.0.0.1:29999", rank, "fake")
    ps.initialize_model_parallel(parallel.tensor_parallel_size, parallel.pipeline_parallel_size)


def _workspace() -> None:
    try:
        from vllm.v1.worker.workspace import init_workspace_manager
    except ImportError:
        return
    init_workspace_manager(torch.device("meta"), 1)


def _draft(config: Any) -> Any:
    """The draft as vLLM's proposers build it, its attention layers marked as a draft's."""
    speculative = config.speculative_config
    base, prefix = config, ""
    if speculative.method == "draft_model":
        prefix = "draft_model"
        parallel = replace(speculative.draft_parallel_config, rank=config.parallel_config.rank)
        base = replace(config, quant_config=None, parallel_config=parallel, model_config=speculative.draft_model_config)
        base.compilation_config = config.compilation_config
    if hasattr(speculative, "apply_draft_overrides"):
        base = speculative.apply_draft_overrides(base)
    before = set(get_layers_from_vllm_config(config, AttentionLayerBase))
    model = initialize_model(base, model_config=speculative.draft_model_config, prefix=prefix)
    for name, layer in get_layers_from_vllm_config(config, AttentionLayerBase).items():
        if name not in before and hasattr(type(layer), "is_draft_layer"):
            layer.is_draft_layer = True
    return model


def is_v2(config: Any) -> bool:
    """Whether this configuration runs on the V2 model runner."""
    return bool(config.use_v2_model_runner)


def _specs(config: Any) -> dict[str, Any]:
    """What the model runner's get_kv_cache_spec returns: the V2 runner's function, or the V1 runner's loop."""
    if is_v2(config):
        from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec

        return get_kv_cache_spec(config)
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    runner = types.SimpleNamespace(vllm_config=config, shared_kv_cache_layers={})
    return GPUModelRunner.get_kv_cache_spec(runner)


def _layouts(config: Any) -> list[str]:
    from vllm.v1.worker import worker_base

    if not hasattr(worker_base, "get_supported_kv_cache_layouts"):
        return []
    return [x.name for x in worker_base.get_supported_kv_cache_layouts(worker_base.get_current_attn_backends(config))]
