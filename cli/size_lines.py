"""The line format of ``interlock size --jsonl``: one case in, one answer out, whatever the case looks like."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from interlock.infra.catalog.gpus import counted
from interlock.infra.catalog.overheads import Overheads
from interlock.infra.engine.flags import shape
from interlock.infra.facts import Fact, known
from interlock.infra.sizing import Entry, Estimate, SizingRequest, SizingResult, Verdict, size, start_refusals
from interlock.infra.sizing.ask import Card, Model, Question, ask
from interlock.infra.sizing.follows import FOLLOWED, JOINED, WHOLE, literal, mapping, number, parts, switch, whole, word

SHORT: Mapping[str, str] = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "pcp": "prefill-context-parallel-size",
    "dcp": "decode-context-parallel-size",
    "ep": "enable-expert-parallel",
}
"""Short name of a case to the argument that it stands for; where both are stated the short one counts."""
_INTEGERS = ("checkpoint_bytes", "sharers")
_NUMBERS = ("gpu_total_gib", "free_at_start_gib", "given_kv_gib", "wanted_concurrency")
_TEXTS = ("model", "gpu", "mig_profile", "vllm_version")
_OTHERS = ("id", "config", "draft_config", "engine", "entry", "n_gpus", "spec_decode")
FIELDS = frozenset({*SHORT, *_INTEGERS, *_NUMBERS, *_TEXTS, *_OTHERS})
"""Fields of a case that are not engine arguments under vLLM's own name."""
LEFT_OUT = ": left out"
"""How what is said about a field of a case ends: the case is answered without it."""
_LARGEST_BLOCK = 256
_SHORT_LENGTH = 2048
_LAST_V0 = "0.7.3"
_LARGEST = 10**15
# Releases that are asked when a case states none.
_RELEASES = ("0.10.2", "0.17.1", "0.24.0", "0.29.0")
_DRAFTS = ("mtp", "eagle3", "eagle", "ngram", "dspark", "dflash", "draft")


def request_of(case: Mapping[str, Any]) -> tuple[SizingRequest, tuple[str, ...]]:
    """The request a case describes, and what was left out of it because it made no sense."""
    strange: list[str] = []
    case = of_counted_cards(case)
    flags = _arguments(case, strange)
    beside = _beside(case, strange)
    if beside.get("v0_engine"):
        beside.setdefault("vllm_version", _LAST_V0)
    model = Model(beside.pop("model", None), _object(case, "config", strange), beside.pop("checkpoint_bytes", None))
    card = Card(beside.pop("gpu", None), beside.pop("gpu_total_gib", None), beside.pop("mig_profile", None), beside.pop("sharers", 1))
    found = ask(flags, {}, model, card, beside.pop("vllm_version", None), beside=beside)
    strange += _left_out(found)
    return found.request, tuple(strange)


def of_counted_cards(case: Mapping[str, Any]) -> dict[str, Any]:
    """The case with ``2x A6000`` as two GPUs of that name, unless the number of GPUs is stated beside it."""
    count, name = counted(case["gpu"]) if isinstance(case.get("gpu"), str) else (1, "")
    return {**case, "gpu": name, "n_gpus": case.get("n_gpus") or count} if count > 1 else dict(case)


def _left_out(found: Question) -> list[str]:
    return [f"{name} = {why}{LEFT_OUT}" if why.endswith("is out of range") else f"{why}{LEFT_OUT}" for name, why in found.open.items()]


def argument_of(name: str) -> str:
    """The engine argument that a field of a case names, in vLLM's spelling; empty for a field that names none."""
    found = SHORT.get(name) or shape("--" + name.replace("_", "-")).name
    return found if found in FOLLOWED or found in JOINED or shape("--" + found).kind else ""


def _arguments(case: Mapping[str, Any], strange: list[str]) -> dict[str, Fact[str]]:
    """The engine arguments of a case as a command line would hold them."""
    flags: dict[str, Fact[str]] = {}
    for name in sorted(case, key=lambda key: key not in SHORT):
        value = case[name]
        if value is None or (name in FIELDS and name not in SHORT):
            continue
        flag = argument_of(name)
        if not flag:
            strange.append(f"{name} is neither a field of a case nor an argument of vLLM{LEFT_OUT}")
        elif flag not in flags:
            text = _text_of(flag, value)
            if text is None:
                strange.append(f"{name} = {str(value)[:60]!r} is not {_form(flag)}{LEFT_OUT}")
            elif not (flag == "block-size" and text.isdecimal() and int(text) > _LARGEST_BLOCK):
                flags[flag] = known(text, name)  # above that it is what the engine settled on for a hybrid, not what was asked
    _completed(case, flags)
    return flags


def _completed(case: Mapping[str, Any], flags: dict[str, Fact[str]]) -> None:
    """What a case leaves unsaid: adapters are on where slots are stated, and GPUs without a split are tensor parallel."""
    if "max-loras" in flags and flags["max-loras"].value not in ("0", ""):
        flags.setdefault("enable-lora", known("true"))
    total = case.get("n_gpus")
    if isinstance(total, int) and not isinstance(total, bool) and total > 1 and "tensor-parallel-size" not in flags:
        rest = math.prod(int(flags[name].get()) for name in ("pipeline-parallel-size", "data-parallel-size") if name in flags)
        flags["tensor-parallel-size"] = known(str(max(1, total // max(rest, 1))))


def _reader(flag: str) -> Callable[[str], Any]:
    follow = FOLLOWED.get(flag)
    return follow.read if follow else mapping if flag == "speculative-config" else switch if flag == "enable-lora" else str


def _form(flag: str) -> str:
    """What an argument takes, in words."""
    return _FORMS.get(_reader(flag), "a text")


def _text_of(flag: str, value: Any) -> str | None:
    """The value as a command line would hold it; None where the argument cannot take it."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, Mapping | list):
        text = json.dumps(value)
    elif isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST:
        text = str(int(value))
    else:
        text = str(value).strip()
    reader = _reader(flag)
    if not text or (reader in (word, literal) and not isinstance(value, str)):
        return None
    try:
        reader(text)
    except (ValueError, OverflowError):
        return None
    return text


def _beside(case: Mapping[str, Any], strange: list[str]) -> dict[str, Any]:
    """What a case says that no command line does."""
    found: dict[str, Any] = {}
    for names, read in ((_INTEGERS, _integer), (_NUMBERS, _number), (_TEXTS, _plain_text)):
        for name in names:
            value = case.get(name)
            if value is not None and (said := read(value)) is not None:
                found[name] = said
            elif value is not None:
                strange.append(f"{name} = {str(value)[:60]!r} is not {_FORMS.get(read, 'a text')}{LEFT_OUT}")
    draft = _object(case, "draft_config", strange)
    if draft is not None:
        found["draft_config"] = draft
    if case.get("entry") == "offline":
        found["entry"] = Entry.OFFLINE
    engine = _plain_text(case.get("engine")) or ""
    if engine.startswith(("V0", "V1")):
        found["v0_engine"] = engine.startswith("V0")
    return found | _spoken(case)


def _spoken(case: Mapping[str, Any]) -> dict[str, Any]:
    """Speculation in words such as ``mtp 2`` beside a log."""
    words = case.get("spec_decode")
    if case.get("speculative_config") is not None or not isinstance(words, str) or not words.strip():
        return {}
    match = re.search(r"(\d+)", words)
    method = next((name for name in _DRAFTS if name in words.lower()), "draft")
    tokens = int(match.group(1)) if match else 1
    return {"speculative_method": "draft_model" if method == "draft" else method, "speculative_tokens": tokens}


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and abs(value) < _LARGEST else None


def _integer(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def _plain_text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None


_FORMS: Mapping[Callable[[Any], Any], str] = {
    whole: f"a whole number such as {WHOLE}",
    number: "a number such as 0.9",
    switch: "true or false",
    mapping: "a JSON object",
    parts: "whole numbers between commas",
    _integer: "a whole number",
    _number: "a number",
}


def _object(case: Mapping[str, Any], name: str, strange: list[str]) -> dict[str, Any] | None:
    value = case.get(name)
    if isinstance(value, str):
        try:
            return mapping(value)
        except ValueError:
            value = [value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    if value is not None:
        strange.append(f"{name} = {str(value)[:60]!r} is not a JSON object{LEFT_OUT}")
    return None


def _rounded(estimate: Estimate | None, digits: int = 3) -> dict[str, float] | None:
    if estimate is None:
        return None
    return {name: round(getattr(estimate, name), digits) for name in ("low", "likely", "high")}


def answer_of(case: Mapping[str, Any], overheads: Overheads | None = None) -> dict[str, Any]:
    """The answer to one case, as documented in docs/size.md. Never raises.

    ``overheads``: fitted figures in place of the catalog's; nothing is suggested then.
    """
    request, strange = request_of(case)
    request = replace(request, overheads=overheads) if overheads else request
    result = size(request, suggest=overheads is None)
    if request.max_model_len is None and result.verdict is Verdict.DOES_NOT_FIT:
        result = _length_not_stated(request, result)
    if request.vllm_version is None and result.verdict is Verdict.DOES_NOT_FIT and result.kv_available_gib is None:
        result = _version_not_stated(request, result)
    if "fork" in (_plain_text(case.get("engine")) or "").lower():
        result = _unsure(result, "the engine is a fork of vLLM: its build of the model and its overheads are not known", *result.reasons)
    return {"id": case.get("id"), **fields_of(result), "unknown": [*strange, *result.unknown]}


def _unsure(result: SizingResult, *reasons: str) -> SizingResult:
    return replace(result, verdict=Verdict.UNSURE, reasons=reasons, refusals=())


def _length_not_stated(request: SizingRequest, result: SizingResult) -> SizingResult:
    """In a case, a missing length is one that nobody wrote down: a shorter one may have been used."""
    shorter = min(_SHORT_LENGTH, result.max_model_len or _SHORT_LENGTH)
    if size(replace(request, max_model_len=shorter)).verdict is Verdict.DOES_NOT_FIT:
        return result
    return _unsure(
        result,
        f"max_model_len is not stated: at the model's own {result.max_model_len} it does not fit ({result.reasons[0]}), shorter it may",
    )


def _version_not_stated(request: SizingRequest, result: SizingResult) -> SizingResult:
    """In a case, a missing version is one that nobody wrote down: what only some releases refuse is left open."""
    for version in _RELEASES:
        older = {each.kind for each in start_refusals(replace(request, vllm_version=version))}
        if not {each.kind for each in result.refusals} & older:
            return _unsure(
                result, f"vllm_version is not stated: {result.vllm_version} refuses it ({result.reasons[0]}), {version} does not"
            )
    return result


def fields_of(result: SizingResult) -> dict[str, Any]:
    """The documented fields of a result."""
    return {
        "verdict": result.verdict.value,
        "reasons": list(result.reasons),
        "refusals": [asdict(refusal) for refusal in result.refusals],
        "weights_gib": _rounded(result.weights_gib),
        "activation_gib": _rounded(result.activation_gib),
        "cudagraph_gib": _rounded(result.cudagraph_gib),
        "non_torch_gib": _rounded(result.non_torch_gib),
        "kv_available_gib": _rounded(result.kv_available_gib),
        "kv_tokens": _rounded(result.kv_tokens, 0),
        "max_concurrency": _rounded(result.max_concurrency, 6),
        "kv_needed_gib": result.kv_needed_gib,
        "kv_bytes_per_token": result.kv_bytes_per_token,
        "param_bytes": result.param_bytes,
        "num_blocks": result.num_blocks,
        "block_size": result.block_size,
        "max_model_len": result.max_model_len,
        "longest_model_len": result.longest_model_len,
        "suggestions": [{"change": dict(s.change), "text": s.text} for s in result.suggestions],
        "vllm_version": result.vllm_version,
    }
