"""Model facts by name or config."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from interlock.infra.catalog.models import find, stored_words
from interlock.infra.sizing.model import facts as facts_module
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.quantization import Quantization
from interlock.infra.sizing.model.quantization_words import parse_quantization

# Words that say less about the storage than the name of the repository does.
_VAGUE = ("fp8", "awq", "gptq", "nvfp4", "int4", "4-bit", "4bit", "8-bit", "8bit", "int8")


@lru_cache(maxsize=512)
def _named(name: str, stated: str | None) -> ModelFacts | None:
    """Facts of a catalog's model. What its config declares about its storage counts, then what its name says, then what was asked."""
    found = find(name)
    if found is None:
        return None
    base = facts_module.from_config(found.config, name, source=found.told)
    words = stated if stated and (not found.quantization or stated.lower() not in _VAGUE) else found.quantization
    declared = parse_quantization(words) if words else None
    if declared and (base.quantization is None or found.quantization or _another_repositorys(name, stated, declared)):
        base = base.with_quantization(declared)
    return ModelFacts(name, base.config, base.quantization, found.checkpoint_bytes, source=found.told, verified=found.verified)


def _another_repositorys(name: str, stated: str | None, declared: Quantization) -> bool:
    """Whether the words beside a name and what was asked agree on a format: then the weights are not the named repository's own, whatever
    its config declares. A word that many use loosely (``fp8``) is not enough."""
    beside = stored_words(name)
    agreed = parse_quantization(beside) if beside else None
    return stated is not None and stated.lower() not in _VAGUE and agreed is not None and agreed.scheme is declared.scheme


def missing_shapes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """What a config.json does not say, or says as nothing above zero, without which its model cannot be sized."""
    facts = facts_module.from_config(config)
    sizes = {"hidden_size": facts.hidden_size, "num_hidden_layers": facts.layers, "vocab_size": facts.vocab_size}
    return (
        ()
        if facts.complete
        else tuple(name for name, value in (sizes | {"num_attention_heads": facts.attention_heads}).items() if not value)
    )


def model_facts(model: str | Mapping[str, Any], quantization: str | None = None) -> ModelFacts | None:
    """Facts of a model: a catalog id, an alias or a variant of one (None when unknown), or a config.json as a mapping.

    ``quantization``: what was asked on the command line; it counts when the checkpoint's own config declares none.
    """
    if isinstance(model, str):
        return _named(model, quantization)
    return facts_module.from_config(model, str(model.get("_name_or_path") or ""), quantization=quantization)
