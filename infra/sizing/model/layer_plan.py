"""Which caches each layer of a model keeps, read from its config.json."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from interlock.infra.sizing.model.compressed import caches as compressed_caches
from interlock.infra.sizing.model.compressed import is_compressed
from interlock.infra.sizing.model.config import Config, integer, layers_in, mapping, sequence, text, truth
from interlock.infra.sizing.model.families import Family, family
from interlock.infra.sizing.model.layers import Cache, KvLayer, State, StateKind


def family_of(config: Config) -> Family:
    """The family of the language model."""
    return family(text(config, "model_type"))


def head_dim_of(config: Config) -> int:
    """Width of one attention head (``head_dim``, else hidden size / heads)."""
    stated = integer(config, "head_dim", "hidden_size_per_head", "attention_head_dim")
    heads = integer(config, "num_attention_heads", "n_head")
    return stated or (integer(config, "hidden_size", "n_embd") // heads if heads else 0)


def kv_heads_of(config: Config) -> int:
    """KV heads of the whole model (as many as query heads when the config does not say)."""
    falcon = family_of(config).kv_heads == "falcon"
    if falcon and not truth(config, "new_decoder_architecture"):
        return 1 if truth(config, "multi_query", default=True) else integer(config, "num_attention_heads")
    if not falcon and truth(config, "multi_query"):  # vLLM: model_arch_config_convertor.py
        return 1
    return integer(config, "num_key_value_heads", "num_kv_heads", "multi_query_group_num") or integer(
        config, "num_attention_heads", "n_head"
    )


def layer_count(config: Config) -> int:
    """Decoder layers."""
    pattern = config.get("layers_block_type") or config.get("hybrid_override_pattern")
    return layers_in(config, "num_hidden_layers", "n_layer", "num_layers") or (len(pattern) if isinstance(pattern, list | str) else 0)


def is_mla(config: Config) -> bool:
    """Multi-head latent attention (DeepSeek V2 and its relatives) whose latent is what is cached."""
    return has_latent(config) and family_of(config).latent_cached


def has_latent(config: Config) -> bool:
    """Attention with low-rank projections, whatever is cached of it."""
    return integer(config, "kv_lora_rank") > 0


def mixers(config: Config) -> tuple[str, ...]:
    """What mixes tokens in each layer: ``full``, ``sliding``, ``chunked``, ``mla``, ``linear``, ``mamba``, ``mlp`` (no mixer)."""
    count = layer_count(config)
    own = family_of(config)
    for reader in (_pattern_letters, _declared_types, _linear_attention, LAYERS[own.layers]):
        found = reader(config, count, own)
        if found and len(found) >= count:
            return found[:count]
    default = "mla" if has_latent(config) else "sliding" if _whole_model_slides(config, own) else "full"
    return (default,) * count


def _pattern_letters(config: Config, count: int, own: Family) -> tuple[str, ...]:
    """Nemotron-H: one letter or word per layer, attention, Mamba and MLP layers apart."""
    words = {"M": "mamba", "*": "full", "-": "mlp", "E": "mlp", "mamba": "mamba", "attention": "full", "mlp": "mlp", "moe": "mlp"}
    pattern = config.get("hybrid_override_pattern") or config.get("layers_block_type")
    if isinstance(pattern, str) and pattern:
        return tuple(words.get(letter, "mlp") for letter in pattern)
    listed = pattern if isinstance(pattern, list | tuple) else ()
    return tuple(words.get(str(word), own.unknown_mixer) for word in listed)


def _declared_types(config: Config, count: int, own: Family) -> tuple[str, ...]:
    """``layer_types`` of recent transformers, and MiMo's list of 0 and 1."""
    words = {
        "full_attention": "full",
        "sliding_attention": "sliding",
        "chunked_attention": "chunked",
        "linear_attention": "linear",
        "conv": "linear",
        "mamba": "mamba",
        "attention": "full",
        "deepseek_sparse_attention": "mla",
    }
    listed = sequence(config, "layer_types")
    if listed and own.layer_types == "full":
        return ("full",) * count
    if listed and own.layer_types == "read":
        return tuple(words.get(str(word), "full") for word in listed[:count])
    pattern = sequence(config, "hybrid_layer_pattern")
    return tuple("sliding" if value == 1 else "full" for value in pattern[:count])


def _linear_attention(config: Config, count: int, own: Family) -> tuple[str, ...]:
    """Hybrids that say which layers are attention: by interval, by list or by period and offset."""
    interval = integer(config, "full_attention_interval", default=4)
    if interval and integer(config, "linear_num_value_heads"):
        return tuple("full" if (i + 1) % interval == 0 else "linear" for i in range(count))
    linear = mapping(config, "linear_attn_config")
    kda = {index for index in sequence(linear, "kda_layers") if isinstance(index, int)}
    if kda:
        return tuple("linear" if i + 1 in kda else "mla" for i in range(count))
    if integer(config, "linear_num_heads") and integer(config, "full_attention_layers"):
        every = max(1, count // integer(config, "full_attention_layers"))
        full = {i for i in range(count) if (i + 1) % every == 0} | {count - 1}
        return tuple("mla" if i in full else "linear" for i in range(count))
    listed = sequence(config, "attn_layer_indices")
    if listed:
        return tuple("full" if i in listed else "mamba" for i in range(count))
    period = integer(config, "attn_layer_period")
    if period:
        offset = integer(config, "attn_layer_offset")
        return tuple("full" if i % period == offset else "mamba" for i in range(count))
    return ()


def _alternate(config: Config, count: int, own: Family) -> tuple[str, ...]:
    return tuple("sliding" if i % 2 == 0 else "full" for i in range(count))


def _period(config: Config, count: int, own: Family) -> tuple[str, ...]:
    period = integer(config, "sliding_window_pattern", "_sliding_window_pattern") or own.period
    return tuple("full" if (i + 1) % period == 0 else "sliding" for i in range(count))


def _chunks(config: Config, count: int, own: Family) -> tuple[str, ...]:
    """Llama 4 attends within chunks but for every fourth layer, which has no rotary positions."""
    listed = sequence(config, "no_rope_layers")
    step = integer(config, "no_rope_layer_interval") or 4
    uses_rope = [bool(v) for v in listed] if len(listed) == count else [(i + 1) % step != 0 for i in range(count)]
    chunked = integer(config, "attention_chunk_size") > 0
    return tuple("chunked" if rope and chunked else "full" for rope in uses_rope)


LAYERS: Mapping[str, Callable[[Config, int, Family], tuple[str, ...]]] = {
    "": lambda config, count, own: (),
    "mamba": lambda config, count, own: ("mamba",) * count,
    "both": lambda config, count, own: ("both",) * count,
    "alternate": _alternate,
    "period": _period,
    "chunks": _chunks,
}
"""How a family's code lays out its layers where the config does not: the ``layers`` of its row."""


def _whole_model_slides(config: Config, own: Family) -> bool:
    """A model without ``layer_types`` whose config has a window: every layer is planned as sliding, however long the window is."""
    if not integer(config, "sliding_window") or own.slides == "never":
        return False
    return own.slides == "stated" or truth(config, "use_sliding_window")


def state_of(config: Config, mixer: str) -> State | None:
    """The recurrent state of a layer, or None when the config does not describe one."""
    kernel = integer(config, "linear_conv_kernel_dim", "conv_kernel", "mamba_d_conv", "d_conv", default=4)
    fp32 = text(config, "mamba_ssm_dtype", "mamba_ssm_cache_dtype") == "float32" or family_of(config).float32_state
    linear = mapping(config, "linear_attn_config")
    if mixer == "linear" and integer(config, "conv_L_cache"):
        width = integer(config, "conv_dim", "hidden_size")
        return State(StateKind.SHORT_CONV, integer(config, "conv_L_cache"), heads=width, head_dim=1, state=0)
    if mixer == "linear" and integer(config, "linear_num_value_heads"):
        return State(
            StateKind.GDN,
            kernel,
            heads=integer(config, "linear_num_value_heads"),
            head_dim=integer(config, "linear_value_head_dim"),
            state=integer(config, "linear_key_head_dim"),
            key_heads=integer(config, "linear_num_key_heads"),
            float32_state=fp32,
        )
    if mixer == "linear":
        heads = integer(linear, "num_heads") or integer(config, "linear_num_heads")
        width = integer(linear, "head_dim") or integer(config, "linear_head_dim")
        taps = integer(linear, "short_conv_kernel_size") or kernel
        return State(StateKind.KDA, taps, heads=heads, head_dim=width, state=width, float32_state=True) if heads and width else None
    heads = integer(config, "mamba_num_heads", "mamba_n_heads", "num_heads")
    if heads:
        width = integer(config, "mamba_head_dim", "mamba_d_head", "head_dim")
        groups = integer(config, "n_groups", "mamba_n_groups", default=1)
        size = integer(config, "ssm_state_size", "mamba_d_state", "state_size")
        return State(StateKind.MAMBA2, kernel, heads=heads, head_dim=width, state=size, key_heads=groups, float32_state=fp32)
    inner = integer(config, "mamba_intermediate_size") or integer(config, "hidden_size") * integer(
        config, "mamba_expand", "expand", default=2
    )
    return State(StateKind.MAMBA1, kernel, heads=inner, head_dim=1, state=integer(config, "mamba_d_state", "state_size", default=16))


def attention_cache(config: Config, mixer: str, index: int) -> KvLayer:
    """Keys and values of a ``full``, ``sliding`` or ``chunked`` layer."""
    heads, width = kv_heads_of(config), head_dim_of(config)
    value = integer(config, "v_head_dim") if not is_mla(config) else 0
    if mixer == "sliding":
        heads = integer(config, "swa_num_key_value_heads") or heads
        width = integer(config, "swa_head_dim") or width
        value = integer(config, "swa_v_head_dim") or value
    elif integer(config, "global_head_dim"):
        width = integer(config, "global_head_dim")
        if truth(config, "attention_k_eq_v"):
            heads = integer(config, "num_global_key_value_heads") or heads
    cache = {"sliding": Cache.SLIDING, "chunked": Cache.CHUNKED}.get(mixer, Cache.FULL)
    window = (
        integer(config, "sliding_window") if mixer == "sliding" else integer(config, "attention_chunk_size") if mixer == "chunked" else 0
    )
    return KvLayer(cache, heads, width, value or width, window, layer=index)


def caches(config: Config) -> Iterator[KvLayer]:
    """Every cache of the model in layer order. Layers that share another layer's cache have none."""
    if is_compressed(config):
        yield from compressed_caches(config)
        return
    if family_of(config).caches == "speech":
        for index in range(layers_in(config, "decoder_layers")):
            heads = integer(config, "decoder_attention_heads")
            width = integer(config, "d_model") // max(heads, 1)
            yield from (KvLayer(cache, heads, width, width, layer=index) for cache in (Cache.FULL, Cache.CROSS))
        return
    names = mixers(config)
    owners = len(names) - integer(config, "num_kv_shared_layers")
    latent = integer(config, "kv_lora_rank") + integer(config, "qk_rope_head_dim")
    for index, mixer in enumerate(names):
        if mixer in ("linear", "mamba", "both"):
            state = state_of(config, "mamba" if mixer == "both" else mixer)
            if state is not None:
                yield KvLayer(Cache.STATE, state=state, layer=index)
        if mixer == "mla" and not is_mla(config):
            width = integer(config, "qk_nope_head_dim") + integer(config, "qk_rope_head_dim")
            yield KvLayer(Cache.FULL, kv_heads_of(config), width, width, layer=index)
        elif mixer == "mla":
            yield KvLayer(Cache.MLA, 1, latent, 0, layer=index)
            if integer(config, "index_head_dim"):
                yield KvLayer(Cache.INDEXER, 1, integer(config, "index_head_dim"), 0, layer=index)
        elif mixer in ("full", "sliding", "chunked", "both") and index < owners:
            yield attention_cache(config, mixer, index)


def spread(value: Any, count: int) -> Sequence[Any]:
    """A per-layer field as a list: lists are cut to ``count``, a single value is repeated."""
    return list(value)[:count] if isinstance(value, list | tuple) else [value] * count
