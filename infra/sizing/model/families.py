"""What differs between decoder families beyond their sizes: biases, extra norms, router precision. A table, not code."""

from dataclasses import dataclass
from typing import Any

from interlock.infra.catalog.tables import table
from interlock.infra.catalog.vllm_defaults import Version, parse_version
from interlock.infra.sizing.model.config import Config

_FILE = "families.json"


@dataclass(frozen=True, slots=True)
class Traits:
    """One family's small parts. A string in the table is the name of a config field that decides."""

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
    """The router carries a float32 correction per expert."""
    expert_bias: bool
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


def familiar(model_type: str) -> bool:
    """Whether the language models of this type are compared with vLLM's own, or their constructors were read."""
    return model_type in table(_FILE)["compared"] or model_type in table(_FILE)["read"]


def familiar_wrapper(model_type: str) -> bool:
    """Whether the towers of a model of this type are described."""
    return model_type in table(_FILE)["wrappers"]


def traits(model_type: str, config: Config, version: Version | None = None) -> Traits:
    """The traits of a model in a version of vLLM (the newest when not named). An unknown family gets the default line (a Llama-like
    decoder)."""
    row: dict[str, Any] = {**table(_FILE)["default"], **table(_FILE)["families"].get(model_type, {})}
    for until, own in row.get("before", {}).items():
        if version is not None and version < (parse_version(until) or version):
            row |= own
    qk_norm = row["qk_norm"]
    if qk_norm not in ("", "head", "full", "full_tp"):
        field, _, kind = qk_norm.partition(":")
        qk_norm = (kind or "head") if config.get(field) is True else ""

    def flag(name: str) -> bool:
        value = row[name]
        return value if isinstance(value, bool) else config.get(value) is True

    return Traits(
        qkv_bias=flag("qkv_bias"),
        o_bias=flag("o_bias"),
        qk_norm=qk_norm,
        norms=int(row["norms"]),
        norm_bias=flag("norm_bias"),
        gated=flag("gated"),
        mlp_bias=flag("mlp_bias"),
        router_bits=int(row["router_bits"]),
        router_bias=flag("router_bias"),
        router_quantized=flag("router_quantized"),
        correction_bias=flag("correction_bias"),
        expert_bias=flag("expert_bias"),
        head_bias=flag("head_bias"),
        every_stage=tuple(row["every_stage"]),
        final_norm=flag("final_norm"),
        positions=str(row["positions"]),
        position_offset=int(row["position_offset"]),
        embed_norm=flag("embed_norm"),
        plain_cache=flag("plain_cache"),
        whole_mlp=flag("whole_mlp"),
        inter_of_hidden=int(row["inter_of_hidden"]),
    )
