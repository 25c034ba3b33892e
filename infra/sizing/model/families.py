"""A family of models is a row of families.json: what its code does differently from a Llama-like decoder, values and named strategies.

This is the only module that turns the name of a model type into something else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.catalog.versions import since
from interlock.infra.sizing.model.config import Config, integer
from interlock.infra.values import Version

_FILE = "families.json"


@dataclass(frozen=True, slots=True)
class Family:
    """What a family's name alone decides; the fields are told in families.json (``about``)."""

    known: str
    names: Mapping[str, str]
    nested: Mapping[str, tuple[str, str]]
    layers: str
    layer_types: str
    period: int
    slides: str
    unknown_mixer: str
    caches: str
    kv_heads: str
    latent_cached: bool
    float32_state: bool
    context: str
    tied: bool
    tensors: str
    one_part: bool
    projections: str
    output_gate: bool
    sinks: bool
    parallel_norms: bool
    rotary_tables: int
    mrope: str
    dense_width: str
    shared_width: str
    experts: str
    experts_beside_mlp: bool
    correction_by_topk: bool
    recurrent: str
    mixer_norms: bool
    predictor: str
    predictor_norms: int
    predictor_dense: bool
    predictor_in_16_bit: bool
    scale_bytes: int
    float16: bool
    pipeline: bool
    expert_parallel: bool


@dataclass(frozen=True, slots=True)
class Traits:
    """One family's small parts that its config or the version may decide. A string in the table names the field that decides."""

    qkv_bias: bool
    o_bias: bool
    qk_norm: str
    """'' none, 'head' per head, 'full' over all heads and whole on each rank, 'full_tp' over this rank's heads."""
    norms: int
    """Norms of the residual width per layer."""
    norm_bias: bool
    gated: bool
    """MLPs have a gate."""
    mlp_bias: bool
    router_bits: int
    router_bias: bool
    router_quantized: bool
    """The router is stored as the checkpoint stores linear layers."""
    correction_bias: bool
    """The router carries a correction per expert."""
    correction_bits: int
    """Its width; 0: that of the model's dtype."""
    expert_bias: bool
    expert_step: int
    """A rank's slice of an expert is padded to so much; 0: not at all."""
    head_bias: bool
    """The output head has a bias."""
    every_stage: tuple[str, ...]
    """Parts that every pipeline stage holds although it uses them on one only: embed, norm, head."""
    final_norm: bool
    """There are weights in the norm after the last layer."""
    positions: str
    """The field with the number of learned positions; '' when positions are computed."""
    position_offset: int
    """Rows of that table before the first position."""
    embed_norm: bool
    """A norm follows the input embedding."""
    plain_cache: bool
    """Its attention is built without the cache's configuration: an fp8 cache is not used."""
    whole_mlp: bool
    """Its MLPs are whole on every rank: transformers' class names no plan to cut them."""
    inter_of_hidden: int
    """Width of the MLP as a multiple of the residual width, where the config does not state it."""


@dataclass(frozen=True, slots=True)
class Towers:
    """How the encoder of a multimodal model is described: names of its tensors and of its peak ('' where nobody did)."""

    tower: str = ""
    encoder: str = ""
    deepstack: int = 0
    """Levels of intermediate features where the config does not state them."""


@cache
def row(model_type: str) -> Mapping[str, Any]:
    """The whole row: the default (a Llama-like decoder), what members of its line share, its own."""
    found = table(_FILE)
    lines = sorted((name for name in found["lines"] if _fits(name, model_type)), key=len)
    merged = dict(found["default"])
    for part in (*(found["lines"][name] for name in lines), found["families"].get(model_type, {})):
        merged |= part
    return merged


def _fits(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


@cache
def family(model_type: str) -> Family:
    """The family of a model type; an unknown one is read as a Llama-like decoder."""
    found = row(model_type)
    return Family(**{field.name: found[field.name] for field in fields(Family)})


def known_family(model_type: str) -> bool:
    """Whether the language models of this type are compared with vLLM's own, or their constructors were read."""
    return bool(family(model_type).known)


def known_wrapper(model_type: str) -> bool:
    """Whether the towers of a model of this type are described."""
    return model_type in table(_FILE)["wrappers"]


def wrapper_flag(model_type: str, name: str) -> bool:
    """Whether a multimodal model's row has a flag: ``tied`` (embeddings), ``names_inner`` (its text_config needs architectures)."""
    return table(_FILE)["wrappers"].get(model_type, {}).get(name) is True


def towers(outer_type: str, vision_type: str, vision: Config) -> Towers:
    """How the towers of a multimodal model are described: the first row of the table that fits."""
    for found in table(_FILE)["towers"]:
        if not _fits(found.get("wrapper", "*"), outer_type) or not _fits(found.get("vision", "*"), vision_type):
            continue
        if "field" not in found or integer(vision, found["field"]):
            return Towers(found.get("tower", ""), found.get("encoder", ""), found.get("deepstack", 0))
    return Towers()


@cache
def _of_version(model_type: str, version: Version | None) -> Mapping[str, Any]:
    found = dict(row(model_type))
    for change, own in found.get("before", {}).items():
        if version is not None and not since(change, version):
            found |= own
    return {field.name: found[field.name] for field in fields(Traits)}


# Fields whose strings are values, not names of the config's fields.
_PLAIN = ("qk_norm", "positions")


def traits(model_type: str, config: Config, version: Version | None = None) -> Traits:
    """The traits of a model in a version of vLLM (the newest when None)."""
    found = dict(_of_version(model_type, version))
    for name, stated in found.items():
        if isinstance(stated, str) and name not in _PLAIN:
            found[name] = config.get(stated) is True
    if found["qk_norm"] not in ("", "head", "full", "full_tp"):
        field, _, kind = found["qk_norm"].partition(":")
        found["qk_norm"] = (kind or "head") if config.get(field) is True else ""
    return Traits(**{**found, "every_stage": tuple(found["every_stage"])})
