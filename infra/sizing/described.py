"""The models that a request means: the catalog's or a config.json, with what the command line changes of it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from interlock.infra.catalog.models import find
from interlock.infra.sizing.model.facts import ModelFacts, from_config
from interlock.infra.sizing.model.lookup import model_facts
from interlock.infra.sizing.model.quantization import Quantization
from interlock.infra.sizing.model.quantization_words import parse_quantization
from interlock.infra.sizing.request import SizingRequest

_ROPE = ("rope_scaling", "rope_parameters")


def model_of(request: SizingRequest) -> ModelFacts | None:
    """Facts of the model as the engine would load it; None when it is not known."""
    facts = _overridden(request) if request.hf_overrides else _stated(request)
    return _built(_requantized(facts, request), request) if facts is not None else None


def draft_of(request: SizingRequest) -> ModelFacts | None:
    """Facts of the draft model, when its config is at hand."""
    if request.draft_config is not None:
        return from_config(request.draft_config, "draft")
    return model_facts(request.draft_model) if request.draft_model and find(request.draft_model) else None


def changed_config(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The config with ``--hf-overrides`` applied: nested configs are merged, every other value is replaced.

    Source: vllm/config/model.py::_apply_dict_overrides. rope_scaling and rope_parameters are two names of one field (transformers 4 and 5).
    """
    changed = dict(config)
    for key, value in changes.items():
        inner = changed.get(key)
        names = _ROPE if key in _ROPE else (key,)
        if isinstance(inner, Mapping) and isinstance(value, Mapping) and key.endswith("_config") and key != "quantization_config":
            changed[key] = {**inner, **value}
        else:
            changed |= dict.fromkeys(names, value)
    return changed


@lru_cache(maxsize=256)
def _described(config: str, name: str, quantization: str | None, checkpoint_bytes: int | None, convert: str | None) -> ModelFacts:
    """Facts of a whole config.json, kept: what is derived from them is kept with them."""
    found = from_config(json.loads(config), name, quantization=quantization, checkpoint_bytes=checkpoint_bytes)
    return replace(found, convert=convert or "")


def _stated(request: SizingRequest) -> ModelFacts | None:
    if request.config is not None:
        return _described(
            json.dumps(request.config, default=str), request.model or "", request.quantization, request.checkpoint_bytes, request.convert
        )
    found = model_facts(request.model, request.quantization) if request.model else None
    if found is not None and request.checkpoint_bytes:
        return replace(found, checkpoint_bytes=request.checkpoint_bytes)
    return found


def _overridden(request: SizingRequest) -> ModelFacts | None:
    base = _stated(request)
    if base is None:
        return None
    config = json.dumps(changed_config(base.config, request.hf_overrides), default=str)
    changed = _described(config, base.name, request.quantization, request.checkpoint_bytes, request.convert)
    stored = changed.quantization or base.quantization
    return _kept(changed, stored, base.checkpoint_bytes, base.verified)


@lru_cache(maxsize=256)
def _kept(facts: ModelFacts, stored: Quantization | None, checkpoint_bytes: int | None, verified: bool) -> ModelFacts:
    return replace(facts, quantization=stored, checkpoint_bytes=checkpoint_bytes, verified=verified)


def _requantized(facts: ModelFacts, request: SizingRequest) -> ModelFacts:
    """``--quantization fp8`` on a 16-bit model quantizes while loading."""
    if request.quantization and facts.quantization is None:
        found = parse_quantization(request.quantization)
        return facts.with_quantization(found) if found else facts
    return facts


@lru_cache(maxsize=256)
def _changed(facts: ModelFacts, convert: str, towerless: bool) -> ModelFacts:
    return replace(facts, convert=convert, towerless=towerless)


def _built(facts: ModelFacts, request: SizingRequest) -> ModelFacts:
    """The parts that the engine builds: another head, no towers."""
    convert = request.convert or facts.convert
    if (convert, request.language_model_only) == (facts.convert, facts.towerless):
        return facts
    return _changed(facts, convert, request.language_model_only)
