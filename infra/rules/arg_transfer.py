"""Prefill and decode engines: what must agree on both sides for the KV cache to be taken over, and what happens when it is not."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from interlock.infra.catalog.connectors import unmanaged
from interlock.infra.catalog.images import library
from interlock.infra.catalog.pairs import Side, on_failure, standing, was_read
from interlock.infra.catalog.versions import newest
from interlock.infra.facts import Bundle, Fact, Place, Workload, known, unknown
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.reading.pairs import DECODE, PREFILL, Pair, connectors, named, over_nixl, pairs, role
from interlock.infra.rules.reading.planner import facts_of
from interlock.infra.rules.reading.relations import member
from interlock.infra.rules.reading.units import engine_containers, where
from interlock.infra.rules.rule import Hit, Settings, rule
from interlock.infra.sizing.model.layer_plan import is_mla
from interlock.infra.sizing.model.layers import Cache
from interlock.infra.values import Version

_LIBRARY = "nixl"
_ROUTERS = "run llm-d's picker with its sidecar, or production-stack's router with --routing-logic disaggregated_prefill_orchestrated"
_LINKS = ("https://docs.vllm.ai/en/latest/features/nixl_connector_usage/",)


@rule(
    "ARG-023",
    Severity.WARNING,
    demand="The image of a prefill or decode engine holds the library of its connector.",
    reason="Without it the engine ends at its start: NIXL is not available.",
    source="vllm/distributed/kv_transfer/kv_connector/v1/nixl/base_worker.py; infra/catalog/engine_images.json",
    remedy="Take an image that holds it.",
    links=_LINKS,
)
def has_library(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for _, container in engine_containers(workload):
        found = library(container.image.get(), _LIBRARY) if container.image.known and over_nixl(workload) else None
        if found is not None and not found.held:
            text = f"{_LIBRARY} is not known to be in this image: of its family those of {found.since} and later hold it"
            yield Hit(container.image.path, text, f"take one of {found.since} or later", container.image.get())


# torch_dtype of a config and --dtype: spellings of one type.
_DTYPES = {"half": "float16", "float": "float32"}
# How a checkpoint states a type of its cache (compressed-tensors; ModelOpt).
_STORED_CACHE = ("kv_cache_scheme", "kv_cache_quant_algo")
_DRAFTS = ("eagle", "eagle3", "mtp", "dflash", "dspark")


def _dtype(workload: Workload) -> Fact[Any]:
    """The type that the engine computes in; of ``auto`` only where the checkpoint's own is a type of 16 bit."""
    stated = workload.engine.flag("dtype").default("auto").map(lambda text: _DTYPES.get(text, text))
    if not stated.known or stated.get() != "auto":
        return stated
    facts = facts_of(workload)
    own = workload.engine.dtype.value or (facts and (facts.text.get("dtype") or facts.text.get("torch_dtype")))
    return known(str(own), stated.path) if own in ("bfloat16", "float16") else unknown(stated.path)


def _cache_dtype(workload: Workload) -> Fact[Any]:
    """The cache's type; what ``auto`` is where the checkpoint states one for its cache is not known here."""
    stated = workload.engine.flag("kv-cache-dtype").default("auto")
    facts = facts_of(workload)
    stored = (facts.config.get("quantization_config") or {}) if facts else {"kv_cache_scheme": "may be there"}
    return unknown(stated.path) if stated.value == "auto" and any(stored.get(key) for key in _STORED_CACHE) else stated


def _backend(workload: Workload) -> Fact[Any]:
    flag = workload.engine.flag("attention-backend")
    return (workload.engine.env.get("VLLM_ATTENTION_BACKEND", Fact()) if flag.absent else flag).map(str.upper)


def _manager(workload: Workload) -> Fact[Any]:
    """Whether the hybrid manager is on: as stated, else as the connectors leave it."""
    stated = workload.engine.flag("disable-hybrid-kv-cache-manager")
    transfer = member(workload, "kv-transfer-config", [])
    if not stated.absent:
        return stated.map(lambda text: "off" if text == "true" else "on")
    if not transfer.known or not isinstance(transfer.value, Mapping) or "LMCacheMPConnector" in connectors(workload):
        return unknown(transfer.path)
    return known("off" if unmanaged(transfer.value, workload.engine.release) else "on", transfer.path)


def _draft(workload: Workload) -> Fact[Any]:
    """The method of a draft that reads hidden states; others hand nothing over."""
    method = member(workload, "speculative-config", ["method"])
    if method.absent:
        return known("none") if workload.engine.flag("speculative-config").absent else unknown(method.path)
    return method.map(lambda text: text if text in _DRAFTS else "none")


def _mode(workload: Workload) -> Fact[Any]:
    return known("push" if "NixlPushConnector" in connectors(workload) else "pull", workload.engine.flag("kv-transfer-config").path)


_READ: Mapping[str, Callable[[Workload], Fact[Any]]] = {
    "vLLM version": lambda workload: workload.engine.version,
    "--dtype": _dtype,
    "--kv-cache-dtype": _cache_dtype,
    "--attention-backend": _backend,
    "the model": lambda workload: workload.engine.model,
    "the hybrid KV cache manager": _manager,
    "the drafting method": _draft,
    "the transfer mode": _mode,
    "--tensor-parallel-size": lambda workload: workload.engine.tensor_parallel.default(1),
    "--block-size": lambda workload: workload.engine.flag("block-size").map(int),
}
"""How each side of the table is read from an engine."""


def _whole_heads(prefill: int, decode: int, pair: Pair) -> bool:
    facts = facts_of(pair.prefill)
    if prefill <= decode or facts is None or not facts.complete or not facts.kv_heads or is_mla(facts.text):
        return True
    return prefill <= facts.kv_heads or any(layer.cache is Cache.STATE for layer in facts.kv_layers)


_TESTS: Mapping[str, Callable[[Any, Any, Pair], bool]] = {
    "equal": lambda prefill, decode, _: bool(prefill == decode),
    "divides": lambda prefill, decode, _: min(prefill, decode) < 1 or max(prefill, decode) % min(prefill, decode) == 0,
    "not smaller": lambda prefill, decode, _: decode >= prefill,
    "whole heads": _whole_heads,
    "multiple": lambda prefill, decode, _: prefill < 1 or decode % prefill == 0,
}
"""Whether a pair passes a test of the table."""


@rule(
    "ARG-022",
    Severity.ERROR,
    demand="The two sides of a prefill/decode pair agree in what their hand-over compares: version, types, sizes, connector.",
    reason="They refuse each other at the first hand-over: every request that is split fails, while both report that they are healthy.",
    source="infra/catalog/kv_pairs.json: compute_nixl_compatibility_hash and the checks of the handshake in the wheels 0.13.0 to 0.33.0",
    remedy="Give both sides the same image, types and sizes.",
    links=_LINKS,
    of="bundle",
)
def sides_agree(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pair in pairs(bundle):
        version = pair.decode.engine.release
        if over_nixl(pair.prefill) and over_nixl(pair.decode):
            yield from (hit for row in standing(version or newest()) for hit in _compared(row, pair, version))
        elif not set(connectors(pair.prefill)) & set(connectors(pair.decode)):
            mine, other = connectors(pair.decode), connectors(pair.prefill)
            text = f"the connector is {', '.join(mine)} here and {', '.join(other)} in {named(pair)}: nothing is handed over"
            place = where(pair.decode, Place.ARGS, pair.decode.engine.flag("kv-transfer-config"))
            yield Hit(place, text, "name one connector on both sides", mine[0], severity=Severity.WARNING, origin=pair.decode.origin)


def _compared(row: Side, pair: Pair, version: Version | None) -> Iterable[Hit]:
    mine, other = _READ[row.of](pair.decode), _READ[row.of](pair.prefill)
    if not (mine.known and other.known) or _TESTS[row.test](other.get(), mine.get(), pair) or (row.hashed and _unchecked(pair)):
        return
    sure = row.severity == "error" and version is not None and was_read(version)
    text = f"{row.of} is {mine.get()} here and {other.get()} in {named(pair)}, which hands over the KV cache: {row.effect}"
    at, also = where(pair.decode, Place.ARGS, mine), ((pair.prefill.origin, where(pair.prefill, Place.ARGS, other)),)
    level = Severity.ERROR if sure else Severity.WARNING
    yield Hit(at, text, f"give both the same: {other.get()}", str(mine.get()), severity=level, origin=pair.decode.origin, also=also)


def _unchecked(pair: Pair) -> bool:
    """Whether the decode side, which asks for the hash, is told not to compare it, or nobody can say whether it is."""
    stated = member(pair.decode, "kv-transfer-config", ["kv_connector_extra_config", "enforce_handshake_compat"])
    return not stated.absent and stated.value is not True


@rule(
    "ARG-024",
    Severity.INFO,
    demand="It is decided what becomes of a request whose KV cache does not arrive.",
    reason="By default the decode engine fails it: each prefill pod that is replaced takes the requests with it that it was handing over.",
    source="infra/catalog/kv_pairs.json: vllm/config/kv_transfer.py kv_load_failure_policy, 'recompute' before 0.17.0 and 'fail' since",
    remedy="Say kv_load_failure_policy: recompute where a slow answer is better than none, or fail where clients repeat.",
    fault="cache-that-does-not-arrive",
    links=_LINKS,
    of="bundle",
)
def failure_is_decided(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pair in pairs(bundle):
        version = pair.decode.engine.release
        stated = member(pair.decode, "kv-transfer-config", ["kv_load_failure_policy"])
        found = on_failure(version) if version and stated.absent and over_nixl(pair.decode) else None
        if found and found[0] == "fail":
            name = pair.prefill.origin.name
            text = (
                f"a pod of {name} that ends while its cache is fetched fails the request: kv_load_failure_policy is fail since {found[1]}"
            )
            place = where(pair.decode, Place.ARGS, pair.decode.engine.flag("kv-transfer-config"))
            yield Hit(place, text, origin=pair.decode.origin)


@rule(
    "ARG-025",
    Severity.WARNING,
    demand="A prefill engine has a decode engine that takes its KV cache, and the other way round.",
    reason="A prefill engine alone writes no answers; a decode engine alone computes each prompt itself, between its answers.",
    source="vLLM documentation, 'Disaggregated Prefilling' (two instances and a router); llm-d guides, 'Prefill/Decode Disaggregation'",
    remedy="Add the other side, or remove kv_role.",
    fault="half-a-pair",
    ours=Severity.ERROR,
    links=("https://docs.vllm.ai/en/latest/features/disagg_prefill/",),
)
def has_partner(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    stated = member(workload, "kv-transfer-config", ["kv_role"])
    mine = role(workload) if stated.known and stated.get() in ("kv_producer", "kv_consumer") else ""
    wanted = {PREFILL: DECODE, DECODE: PREFILL}.get(mine)
    if wanted is None:
        return
    near = (each for each in bundle.workloads if each.origin.namespace == workload.origin.namespace and each is not workload)
    if any(role(each) == wanted or _open(each) for each in near):
        return
    # What is not among the documents that were read may stand elsewhere. A decode engine alone still answers.
    level = None if bundle.closed and mine == PREFILL else Severity.INFO
    missing = f"no {wanted} engine is in {'the stack' if bundle.closed else 'what was read'} for this {mine} engine"
    yield Hit(where(workload, Place.ARGS, stated), missing, f"add a {wanted} engine, or remove kv_role", str(stated.get()), severity=level)


def _open(workload: Workload) -> bool:
    """Whether it may be the other side: its command line cannot be read whole, or it does both."""
    return not workload.engine.complete or bool(connectors(workload) and not role(workload))


@rule(
    "ARG-026",
    Severity.WARNING,
    demand="A router splits each request between the prefill and the decode engine.",
    reason="Each engine answers alone what reaches it: nothing is handed over, and the prefill engine's cards read prompts for nobody.",
    source="vLLM documentation, NixlConnector usage guide (a proxy sends max_tokens 1 with do_remote_decode, then the returned "
    "kv_transfer_params); a pair of vLLM 0.32 answered in this way (tests/engine/test_pairs.py)",
    remedy="Put a router in front that splits requests: llm-d's picker with its sidecar, or production-stack's router with "
    "--routing-logic disaggregated_prefill_orchestrated.",
    fault="pair-without-router",
    links=_LINKS,
    of="bundle",
)
def has_router(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for pair in pairs(bundle):
        spaces = {pair.prefill.origin.namespace, pair.decode.origin.namespace}
        places = [*(each.origin for each in bundle.routers), *(each.origin for each in bundle.programs)]
        seen = any(each.namespace in spaces for each in places)
        stated = pair.prefill.engine.router.known or pair.decode.engine.router.known
        # The router can be any program that was not read; only a whole stack says that there is none.
        level = None if bundle.closed else Severity.INFO
        if not (seen or stated):
            names = f"{pair.prefill.origin.name} (prefill) and {pair.decode.origin.name} (decode)"
            text = f"no router is named in front of {names}: a request that reaches one of them is not split"
            place = where(pair.decode, Place.ARGS, pair.decode.engine.flag("kv-transfer-config"))
            yield Hit(place, text, f"{_ROUTERS}, and name its Service as transfer.router", origin=pair.decode.origin, severity=level)
