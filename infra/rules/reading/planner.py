"""What the planner is asked about a workload: model facts, the card or slice, and whether the model fits it."""

import json
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from interlock.infra.catalog.gpus import Gpu, gpu
from interlock.infra.catalog.models import entry
from interlock.infra.facts import Bundle, Fact, Pool, Workload
from interlock.infra.rules.reading.units import accelerators, engine_containers, size_of, switched_on
from interlock.infra.sizing import ModelFacts, SizingRequest, SizingResult, model_facts, size, whole_weights
from interlock.infra.values import GIB

_MOST_RANKS = 1024
_SWITCHES = {
    "enforce_eager": "enforce-eager",
    "enable_prefix_caching": "enable-prefix-caching",
    "language_model_only": "language-model-only",
}
_WHOLE = {"max_model_len": "max-model-len", "max_num_seqs": "max-num-seqs", "max_num_batched_tokens": "max-num-batched-tokens"}
_TEXTS = {"dtype": "dtype", "quantization": "quantization", "kv_cache_dtype": "kv-cache-dtype"}
_UNREADABLE = (
    "hf-overrides",
    "rope-scaling",
    "config-format",
    "load-format",
    "kv-transfer-config",
    "kv-offloading-size",
    "additional-config",
)


def facts_of(workload: Workload) -> ModelFacts | None:
    """What the planner knows of the model: its config where given, else the catalog's entry of that name."""
    engine = workload.engine
    if engine.config is not None:
        return _from_config(json.dumps(engine.config, sort_keys=True, default=str), _text(engine.quantization))
    if not engine.model.known or not isinstance(engine.model.value, str):
        return None
    return _named(engine.model.value, _text(engine.flag("quantization")))


@lru_cache(maxsize=256)
def _from_config(config: str, quantization: str | None) -> ModelFacts | None:
    return model_facts(json.loads(config), quantization)


@lru_cache(maxsize=512)
def _named(name: str, quantization: str | None) -> ModelFacts | None:
    parts = name.strip("/").split("/")
    tries = dict.fromkeys((name, "/".join(parts[-2:]))) if name.startswith("/") else (name,)
    return next((found for text in tries if (found := model_facts(text, quantization)) is not None), None)


def _text(fact: Fact[str]) -> str | None:
    return str(fact.value) if fact.known and fact.value not in ("none", "auto", "") else None


def slice_of(workload: Workload) -> str | None:
    """The MIG profile that the engine asks for, or None."""
    for _, container in engine_containers(workload):
        for units in accelerators(container):
            if units.unit == "slice" and units.vendor == "nvidia":
                return units.resource.rsplit("/", 1)[-1].removeprefix("mig-")
    return None


def card(workload: Workload, bundle: Bundle) -> Gpu | None:
    """The card under a workload: its pool's, else the one that its node labels name."""
    pool = bundle.pool(workload)
    named = pool.gpu if pool and pool.gpu.known else workload.gpu
    return gpu(named.get()) if named.known and isinstance(named.value, str) else None


def capability(workload: Workload, bundle: Bundle) -> float | None:
    """Compute capability of the cards, when it is known."""
    pool = bundle.pool(workload)
    if pool and pool.compute_capability.known:
        return pool.compute_capability.get()
    found = card(workload, bundle)
    return found.compute_capability if found else None


def sharers(workload: Workload, pool: Pool | None) -> int:
    """Engines that may sit on one card."""
    shared = pool is not None and pool.shares.known and pool.sharing.value in ("time-slicing", "mps")
    return max(1, pool.shares.get()) if shared and pool is not None else 1


def request_of(workload: Workload, bundle: Bundle) -> SizingRequest | None:
    """The question for the planner; None where something that decides the answer is not known."""
    engine, pool, found = workload.engine, bundle.pool(workload), card(workload, bundle)
    total = pool.gpu_memory if pool else Fact()
    sizes = [size_of(workload, fact) for fact in (engine.tensor_parallel, engine.pipeline_parallel)]
    opaque = any(not engine.flag(name).absent for name in _UNREADABLE)
    facts = facts_of(workload)
    counted = all(fact.known and 1 <= fact.get() <= _MOST_RANKS for fact in sizes)
    if facts is None or not _storage_known(workload, facts) or (found is None and not total.known) or opaque or not counted:
        return None
    if workload.vendor.known and workload.vendor.get() != "nvidia":
        return None
    values: dict[str, Any] = {"tp": sizes[0].get(), "pp": sizes[1].get(), "vllm_version": _text(engine.version)}
    values |= {"gpu": found.name if found else None, "mig_profile": slice_of(workload)}
    values |= {"gpu_total_gib": total.get() / GIB} if total.known else {}
    values |= {"config": dict(engine.config)} if engine.config is not None else {"model": facts_name(workload)}
    values |= {"checkpoint_bytes": engine.weight_bytes.get()} if engine.weight_bytes.known else {}
    for name, fact in _stated(workload).items():
        if fact.unknown:
            return None
        if fact.known:
            values[name] = fact.get()
    try:
        return SizingRequest(**values)
    except (ValidationError, TypeError):
        return None


def _storage_known(workload: Workload, facts: ModelFacts) -> bool:
    """Whether it is known how the checkpoint is stored; class defaults of a config do not say it."""
    declared = any(key in part for part in (facts.config, facts.text) for key in ("torch_dtype", "dtype"))
    return declared or facts.quantization is not None or workload.engine.weight_bytes.known


def exact(workload: Workload) -> bool:
    """Whether the model's config is its own: given, or the catalog's entry of that very name (variants may be made for longer contexts)."""
    return workload.engine.config is not None or (workload.engine.model.known and entry(workload.engine.model.get().strip("/")) is not None)


def checkpoint_bytes(workload: Workload) -> int | None:
    """Bytes of the checkpoint of a model that the catalog knows, as it is stored (a flag that quantizes while loading changes nothing)."""
    own = workload.engine.quantization
    if workload.engine.config is not None or not workload.engine.model.known or (own.known and own.get() != "none"):
        return None
    facts = _named(str(workload.engine.model.value), None)
    if facts is None or not facts.complete or not _storage_known(workload, facts):
        return None
    return whole_weights(facts) or None


def facts_name(workload: Workload) -> str:
    """The model's name as the catalog finds it."""
    found = facts_of(workload)
    return found.name if found else ""


def _stated(workload: Workload) -> dict[str, Fact[Any]]:
    engine = workload.engine
    stated: dict[str, Fact[Any]] = {name: engine.flag(flag) for name, flag in _TEXTS.items()}
    stated |= {name: engine.flag(flag).map(_whole) for name, flag in _WHOLE.items()}
    stated |= {name: engine.flag(flag).map(lambda text: text != "false") for name, flag in _SWITCHES.items()}
    stated["gpu_memory_utilization"] = engine.flag("gpu-memory-utilization").map(float)
    stated["cpu_offload_gb"] = engine.flag("cpu-offload-gb").map(float)
    stated["kv_cache_memory_bytes"] = engine.flag("kv-cache-memory-bytes").map(_whole)
    stated["expert_parallel"] = engine.flag("enable-expert-parallel").map(lambda text: text != "false")
    if engine.quantization.known and engine.flag("quantization").absent:
        stated["quantization"] = engine.quantization
    if switched_on(engine.flag("enable-lora")):
        stated["max_loras"] = engine.flag("max-loras").map(_whole).default(1)
        stated["max_lora_rank"] = engine.flag("max-lora-rank").map(_whole)
    return {name: fact for name, fact in stated.items() if not (fact.known and fact.value in ("auto", "none"))}


_SCALE = {"k": 1000, "K": 1024, "m": 10**6, "M": 1024**2, "g": 10**9, "G": 1024**3}


def _whole(text: str) -> int:
    """A whole number as vLLM's parser reads it (``32k``, ``1M``, ``auto``)."""
    if text.strip().lower() == "auto":
        return -1
    if text and text[-1] in _SCALE:
        return int(float(text[:-1]) * _SCALE[text[-1]])
    return int(text)


@lru_cache(maxsize=512)
def _answer(question: str) -> SizingResult:
    return size(SizingRequest.model_validate_json(question))


def answer(workload: Workload, bundle: Bundle) -> SizingResult | None:
    """The planner's answer; None where the question cannot be asked."""
    request = request_of(workload, bundle)
    return _answer(request.model_dump_json()) if request else None
