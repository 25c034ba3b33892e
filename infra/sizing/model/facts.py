"""What the planner needs to know about a model, from a config.json, the catalog or a few typed fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from interlock.infra.catalog.versions import newest
from interlock.infra.sizing.model import quantization as quant
from interlock.infra.sizing.model.compressed import described, is_compressed
from interlock.infra.sizing.model.config import Config, integer, mapping, text, text_of, truth
from interlock.infra.sizing.model.context import limit_of, unscaled_of
from interlock.infra.sizing.model.families import Family, Towers, Traits, family, towers, traits, wrapper_flag
from interlock.infra.sizing.model.field_names import normalise
from interlock.infra.sizing.model.layer_plan import caches, head_dim_of, is_mla, kv_heads_of, layer_count, mixers
from interlock.infra.sizing.model.layers import Cache, KvLayer
from interlock.infra.sizing.model.quantization import Quantization, Scheme
from interlock.infra.sizing.model.quantization_words import parse_quantization
from interlock.infra.values import Version

_ASSUMED_LENGTH = 2048
_DTYPES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "auto": 2}


@dataclass(frozen=True, eq=False)
class ModelFacts:
    """One model. Compared by identity, so that what is derived from it can be kept."""

    name: str
    config: Config = field(repr=False)
    """config.json, whole."""
    quantization: Quantization | None = None
    checkpoint_bytes: int | None = None
    """Sum of the checkpoint's tensor bytes, when known (safetensors index or headers): then weights are measured, not derived."""
    stated_params: int | None = None
    """Parameters somebody stated, used when the shapes are unknown."""
    source: str = ""
    """Where the facts come from."""
    convert: str = ""
    """``--convert``: ``embed`` or ``classify`` make a generating model answer with vectors or scores."""
    verified: bool = True
    """The shapes are the repository's own config.json, or were given; otherwise they inform, and refuse nothing."""
    towerless: bool = False
    """Its encoders are not built: ``--language-model-only``, or no item of their kinds is allowed."""

    @cached_property
    def text(self) -> Config:
        """The language model's part of the config, under the usual names."""
        return normalise(text_of(self.config))

    @cached_property
    def model_type(self) -> str:
        """``model_type`` of the language model, or of the whole."""
        return text(self.text, "model_type") or text(self.config, "model_type")

    @cached_property
    def outer_type(self) -> str:
        """``model_type`` of the whole config (differs from the language model's when there is a vision tower)."""
        return text(self.config, "model_type")

    @cached_property
    def family(self) -> Family:
        """What its family's code does differently from a Llama-like decoder."""
        return family(self.model_type)

    def traits(self, version: Version | None = None) -> Traits:
        """Its small parts as that version builds them (the newest when None)."""
        return traits(self.model_type, self.text, version)

    @cached_property
    def architecture(self) -> str:
        """First entry of ``architectures``, or empty."""
        listed = self.config.get("architectures")
        return str(listed[0]) if isinstance(listed, list) and listed else ""

    @cached_property
    def hidden_size(self) -> int:
        """Width of the residual stream."""
        return integer(self.text, "hidden_size", "n_embd", "d_model")

    @cached_property
    def layers(self) -> int:
        """Decoder layers."""
        return layer_count(self.text)

    @cached_property
    def attention_heads(self) -> int:
        """Query heads."""
        return integer(self.text, "num_attention_heads", "n_head")

    @cached_property
    def kv_heads(self) -> int:
        """KV heads (1 for MLA, which is replicated)."""
        return 1 if is_mla(self.text) else kv_heads_of(self.text)

    @cached_property
    def head_dim(self) -> int:
        """Width of one head."""
        return head_dim_of(self.text)

    @cached_property
    def vocab_size(self) -> int:
        """Vocabulary, before padding."""
        return integer(self.text, "vocab_size")

    @cached_property
    def intermediate_size(self) -> int:
        """Width of a dense MLP."""
        stated = integer(self.text, "intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size")
        return stated or self.traits().inter_of_hidden * self.hidden_size

    @cached_property
    def experts(self) -> int:
        """Routed experts per MoE layer; 0 for a dense model."""
        return integer(self.text, "n_routed_experts", "num_local_experts", "num_experts")

    @cached_property
    def expert_size(self) -> int:
        """Width of one expert."""
        return integer(self.text, "moe_intermediate_size", "expert_ffn_hidden_size") or self.intermediate_size

    @cached_property
    def experts_per_token(self) -> int:
        """Experts that one token visits."""
        return integer(self.text, "num_experts_per_tok", "top_k_experts", "moe_topk", default=1)

    @cached_property
    def max_position(self) -> int:
        """Longest context the newest version allows; 0 when the config does not say."""
        return self.limit(newest())

    def limit(self, version: Version) -> int:
        """Longest context the config allows in that version; 0 when it does not say."""
        return limit_of(self.text, version)

    def length(self, version: Version) -> int:
        """The length that is taken when none is stated: the config's, with longrope the one before scaling, 2048 when it says nothing."""
        own = self.limit(version)
        return unscaled_of(self.text) or own or (_ASSUMED_LENGTH if self.architecture and self.complete else 0)

    @cached_property
    def dtype_bytes(self) -> int:
        """Bytes of one number in the checkpoint's own dtype; float32 checkpoints are loaded as 16 bit, as vLLM does."""
        declared = text(self.text, "torch_dtype", "dtype") or text(self.config, "torch_dtype", "dtype")
        return min(2, _DTYPES.get(declared.removeprefix("torch."), 2))

    @cached_property
    def dtype(self) -> str:
        """The checkpoint's dtype (``bfloat16`` when it does not say)."""
        return (text(self.text, "torch_dtype", "dtype") or text(self.config, "torch_dtype", "dtype") or "bfloat16").removeprefix("torch.")

    @cached_property
    def tied(self) -> bool:
        """Input and output embedding are one tensor."""
        outer, own = self.config.get("tie_word_embeddings"), self.text.get("tie_word_embeddings")
        if wrapper_flag(self.outer_type, "tied") and outer is None and not self.checkpoint_bytes:
            return True  # the default of the whole config; the whole's word counts (config/vllm.py::with_hf_config)
        stated = outer if isinstance(outer, bool) else own if isinstance(own, bool) else self.text.get("tie_embedding")
        return stated if isinstance(stated, bool) else self.family.tied

    @cached_property
    def pooling(self) -> bool:
        """An encoder: it has no KV cache."""
        return self.family.tensors.startswith("encoder") or "Bert" in self.architecture or "Roberta" in self.architecture

    @cached_property
    def head(self) -> str:
        """What comes after the last layer: ``lm``, ``embed`` (nothing) or ``classify`` (scores)."""
        if self.architecture.endswith(("ForSequenceClassification", "ForTokenClassification")):
            return "classify"
        if self.convert in ("embed", "classify"):
            return self.convert
        generates = self.multimodal or self.architecture.endswith(("LMHeadModel", "ChatModel", "ChatGLMModel"))
        return "embed" if self.architecture.endswith("Model") and not generates else "lm"

    @cached_property
    def pools(self) -> bool:
        """It answers with vectors or scores."""
        return self.pooling or self.head != "lm"

    @cached_property
    def mixers(self) -> tuple[str, ...]:
        """What mixes tokens in each layer."""
        return mixers(self.text)

    @cached_property
    def kv_layers(self) -> tuple[KvLayer, ...]:
        """Every cache of the model, in layer order."""
        return () if self.pooling else tuple(caches(self.text))

    @cached_property
    def kv_kinds(self) -> frozenset[KvLayer]:
        """The caches that differ in more than their layer, each once (as layer 0)."""
        return frozenset(replace(layer, layer=0) for layer in self.kv_layers)

    @cached_property
    def hybrid(self) -> bool:
        """Attention beside recurrent layers."""
        kinds = {layer.cache for layer in self.kv_layers}
        return Cache.STATE in kinds and len(kinds) > 1

    @cached_property
    def multimodal(self) -> bool:
        """It has an encoder for images, video or sound, and the encoder is built."""
        if self.towerless:
            return False
        whole = {**mapping(self.config, "thinker_config"), **self.config}
        return bool(mapping(whole, "vision_config") or mapping(whole, "audio_config"))

    @cached_property
    def vision(self) -> Config:
        """The vision tower's part of the config; empty where there is none, or none is built."""
        if self.towerless:
            return {}
        return mapping(self.config, "vision_config") or mapping(mapping(self.config, "thinker_config"), "vision_config")

    @cached_property
    def towers(self) -> Towers:
        """How its vision tower is described."""
        return towers(self.outer_type, text(self.vision, "model_type"), self.vision)

    @cached_property
    def deepstack(self) -> int:
        """Levels of intermediate features that its tower hands to the language model."""
        listed = self.vision.get("deepstack_visual_indexes")
        return len(listed) if isinstance(listed, list | tuple) else self.towers.deepstack if self.vision else 0

    @cached_property
    def group(self) -> str:
        """The group it is reported in: pooling, compressed, hybrid, mla, sliding, chunked, moe, vision, dense."""
        kinds = {layer.cache for layer in self.kv_layers}
        if self.pooling:
            return "pooling"
        if is_compressed(self.text):
            return "compressed"
        for cache, name in ((Cache.STATE, "hybrid"), (Cache.MLA, "mla"), (Cache.CHUNKED, "chunked"), (Cache.SLIDING, "sliding")):
            if cache in kinds:
                return name
        return "moe" if self.experts else "vision" if self.multimodal else "dense"

    @cached_property
    def complete(self) -> bool:
        """Whether the shapes suffice to derive the weights."""
        return bool(self.hidden_size and self.layers and self.vocab_size and (self.attention_heads or "mamba" in self.mixers))

    @cached_property
    def sizes_cache(self) -> bool:
        """Whether the shapes suffice to lay out the KV cache."""
        if is_compressed(self.text) and not described(self.text):
            return False
        known = all(layer.state is not None or layer.page or (layer.head_dim and layer.kv_heads) for layer in self.kv_layers)
        return self.pooling or bool(self.kv_layers and known)

    def with_quantization(self, found: Quantization | None) -> "ModelFacts":
        """The same model stored differently."""
        return replace(self, quantization=found, checkpoint_bytes=None)


def from_config(
    config: Mapping[str, Any], name: str = "", *, quantization: str | None = None, checkpoint_bytes: int | None = None, source: str = ""
) -> ModelFacts:
    """Facts from a config.json. ``quantization``: what was asked or stated, when the config has none of its own."""
    declared = quant.from_config(config)
    if declared is None and quantization:
        declared = parse_quantization(quantization)
    return ModelFacts(name, config, declared, checkpoint_bytes, source=source or "config.json")


__all__ = ["ModelFacts", "Quantization", "Scheme", "from_config", "truth"]
