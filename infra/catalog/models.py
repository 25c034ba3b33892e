"""The built-in model catalog: config.json fields of well-known models, each with its source and date."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from interlock.infra.catalog.tables import table


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalog, or an alias: another repository of the same shapes, stored differently or with some fields changed."""

    name: str
    config: Mapping[str, Any]
    source: str
    date: str
    verified: bool
    """The shapes were read from a copy of the repository's config.json, or are proven; others inform and widen, and refuse nothing."""
    quantization: str | None = None
    """How the alias stores the weights, in words."""
    checkpoint_bytes: int | None = None
    own: bool = False
    """The repository's own config.json was read; an alias or a variant shares another's shapes, and may differ in length."""

    proven: frozenset[str] = frozenset()
    """Fields of an entry that is not verified which something else proves: a copy without an address or one that transformers saved again,
    another project's table that is made from the repository, an error text of vLLM about this model."""
    taken: str | None = None
    """The id of the catalog whose config this is, where the name that was looked up is not one itself."""

    @property
    def exact_length(self) -> bool:
        """Whether the length is the repository's own, so that a longer one is refused."""
        return self.own or "max_position_embeddings" in self.proven

    @property
    def told(self) -> str:
        """Where the fields come from, for people who have to trust them."""
        return self.source if self.verified else "not verified against the model's config.json"


# Fields that settle how large a model is; where these were compared with a copy, only a length or a type is unproven.
_SHAPES = {"num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size"}
# Parts of repository names that say how the weights are stored, the telling ones first.
_STORED: tuple[tuple[str, str], ...] = (
    (r"[-_.]mlx([-_.][\w.]+)?$|[-_.]mlx(?=[-_.])", "mlx"),
    (r"[-_.]exl[23]([-_.][\d.]+bpw)?$", "exl3"),
    (r"[-_.]gguf$", "gguf"),
    (r"[-_.](nv)?fp4a16$", "nvfp4"),
    (r"[-_.]nvfp4$|[-_.]fp4$", "nvfp4"),
    (r"[-_.]mxfp4$", "mxfp4"),
    (r"[-_.]?fp8[-_.]?dynamic$|[-_.]fp8[-_.]kv$", "compressed-tensors fp8"),
    (r"[-_.]?fp8[-_.]?block$|[-_.]fp8$", "fp8 block"),
    (r"[-_.]?quantized\.w4a16$|[-_.]w4a16(_asym)?$|[-_.]ct$", "w4a16"),
    (r"[-_.](int4[-_.])?auto-?round([-_.](gptq|awq))?([-_.]\w*bit)?$", "gptq"),
    (r"[-_.]awq[-_.]8bit$|[-_.]gptq[-_.](int8|8bit)$", "gptq 8 bit"),
    (r"[-_.]?quantized\.w8a8$|[-_.]w8a8$|[-_.]int8$", "w8a8"),
    (r"[-_.]awq([-_.]int4|[-_.]4bit|[-_.]marlin)?$", "awq"),
    (r"[-_.]gptq[-_.]4b[-_.]\d+g([-_.]\w+)?$|[-_.](gptq)?[-_.]?int4$|[-_.]gptq([-_.]4bit)?([-_.]\d+g)?$", "gptq"),
    (r"[-_.]unsloth[-_.]bnb[-_.]4bit$|[-_.]bnb[-_.]4bit$|[-_.]4bit[-_.]bnb$", "bitsandbytes"),
    (r"[-_.]4[-_]?bit$", "w4a16"),
    (r"[-_.]8[-_]?bit$", "w8a8"),
)
# Parts that change nothing about the shapes and say nothing about the storage.
_SILENT = (r"[-_.](bf16|fp16|bfloat16|float16)$", r"[-_.](qat|hf|ckpt|safetensors|unsloth)$", r"[-_.]qat(?=[-_.])", r"[-_.]dynamic$")
# Bits per weight by a word of the name.
_BITS = {"fp8": 8, "w8a8": 8, "awq": 4, "gptq": 4, "nvfp4": 4, "int4": 4, "w4a16": 4}
# Publishers whose repositories are all in one format, which the name then need not repeat.
_PUBLISHERS = {"mlx-community": "mlx"}


def _tables() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    loaded = table("models.json")
    return loaded["models"], loaded["aliases"]


def _expand(value: Any) -> Any:
    """Long per-layer lists are stored as {len, counts, first}: repeated by their period."""
    if isinstance(value, Mapping):
        if set(value) == {"len", "counts", "first"}:
            return _repeat(value["first"], value["len"], value["counts"])
        return {key: _expand(inner) for key, inner in value.items()}
    return value


def _repeat(first: list[Any], length: int, counts: Mapping[str, int]) -> list[Any]:
    """The list of ``length`` whose beginning and counts are known: the shortest period that gives those counts."""

    def tally(listed: list[Any]) -> dict[str, int]:
        return {key: sum(str(item) == key for item in listed) for key in counts}

    for period in range(1, len(first) + 1):
        whole = [first[i % period] for i in range(length)]
        if whole[: len(first)] == first and tally(whole) == dict(counts):
            return whole
    rest = {key: count - sum(str(item) == key for item in first) for key, count in counts.items()}
    whole, total = list(first), max(length - len(first), 1)
    due = dict.fromkeys(rest, 0.0)
    while len(whole) < length:  # an irregular list: what is left, spread evenly
        for key, count in rest.items():
            due[key] += count / total
        chosen = max(due, key=lambda key: due[key])
        due[chosen] -= 1
        whole.append(next((item for item in first if str(item) == chosen), chosen))
    return whole


@cache
def entry(name: str) -> Entry | None:
    """The model of that id or alias, exactly as written, or None."""
    models, aliases = _tables()
    if name in models:
        row = models[name]
        own, proven = row["verified"], frozenset(row.get("proven", ()))
        settled, stored = own or proven >= _SHAPES, row.get("checkpoint_bytes")
        return Entry(name, _expand(row["config"]), row["source"], row["date"], settled, None, stored, own, proven)
    if name in aliases:
        alias = aliases[name]
        base = entry(alias["model"])
        if base is None:
            return None
        changed = alias.get("config", {})
        config = {**base.config, **changed} if changed else base.config
        proven = frozenset(alias.get("proven", ()))
        settled = base.verified and (bool(proven) or not alias.get("source"))
        source, own = alias.get("source", base.source), _stored_by_its_maker(name, alias, base)
        stored, size = alias.get("quantization"), alias.get("checkpoint_bytes")
        return Entry(name, config, source, base.date, settled, stored, size, own, proven if proven or not own else base.proven)
    return None


def _stored_by_its_maker(name: str, alias: Mapping[str, Any], base: Entry) -> bool:
    """Whether a repository only stores its own publisher's model differently, which changes no length."""
    plain = not alias.get("config") and not alias.get("source")
    return plain and base.exact_length and name.split("/", maxsplit=1)[0] == base.name.split("/")[0] and bool(alias.get("quantization"))


# Words beside a name that say how a variant is stored.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"\b(bnb|bitsandbytes)\b", "bitsandbytes"),
    (r"\bnvfp4\b", "nvfp4"),
    (r"\bfp8\b", "fp8"),
    (r"\bawq\b", "awq"),
    (r"\b(gptq|autoround|auto-round)\b", "gptq"),
    (r"\b(4-?bit|int4)\b", "w4a16"),
    (r"\bquant(ized|ization)?\b", "quantized, how is not stated"),
)


def stored_words(name: str) -> str | None:
    """How the text beside a name says the weights are stored, or None."""
    beside = name.lower().split(" ", 1)[1] if " " in name.strip() else ""
    return next((words for pattern, words in _WORDS if re.search(pattern, beside)), None)


def _plain(name: str) -> str:
    text = re.sub(r"\(.*?\)|\+.*$", " ", name).strip().split(" ")[0]
    return text.rsplit("/", 1)[-1].lower().removeprefix("meta-")


@cache
def _by_plain_name() -> Mapping[str, str]:
    models, aliases = _tables()
    return {_plain(name): name for name in (*aliases, *models)}


@cache
def _known(plain: str) -> str | None:
    """Catalog id of a plain name, or of what it is called with or without the words of a variant."""
    variants = (
        plain,
        f"{plain}-instruct",
        plain.removesuffix("-instruct"),
        plain.removesuffix("-chat"),
        plain.removesuffix("-it"),
        f"{plain}-it",
        f"{plain}-hf",
        f"{plain.removesuffix('-hf').removesuffix('-chat')}-hf",
        plain.removesuffix("-base"),
        re.sub(r"-(instruct|thinking)?-?\d{4}$", "", plain),
    )
    return next((_by_plain_name()[variant] for variant in variants if variant in _by_plain_name()), None)


def _shorter(plain: str) -> tuple[str, str | None] | None:
    """The name without one part that says how weights are stored, and what that part says; None when there is no such part."""
    for pattern, words in _STORED:
        rest = re.sub(pattern, "", plain)
        if rest != plain:
            return rest, words
    for pattern in _SILENT:
        rest = re.sub(pattern, "", plain)
        if rest != plain:
            return rest, None
    return None


def stored_as(name: str) -> str | None:
    """How a repository's name says its weights are stored, in words; None when it says nothing."""
    publisher = name.strip("/").split("/", 1)[0].lower() if "/" in name else ""
    found, step = _PUBLISHERS.get(publisher), _shorter(_plain(name))
    while step is not None and found is None:
        found, step = step[1], _shorter(step[0])
    return found


@cache
def find(name: str) -> Entry | None:
    """The model a person means: exact id, id without its organisation, base model of a quantized or instruct variant; or None.

    ``RedHatAI/Qwen3-32B-FP8-dynamic`` finds Qwen3-32B with its quantization in words. What only says how weights are stored is taken off
    the end again and again, in any order. Words beside the name (``(fp8)``) count only where the config itself says nothing.
    """
    exact = entry(name)
    if exact is not None:
        return exact
    plain, stored = _plain(name), _PUBLISHERS.get(name.split("/", 1)[0].lower()) if "/" in name else None
    while True:
        known = _known(plain)
        if known is not None:
            return _variant(name, known, stored)
        step = _shorter(plain)
        if step is None:
            return _in_brackets(name)
        plain, stored = step[0], stored or step[1]


def _in_brackets(name: str) -> Entry | None:
    """The model that stands in brackets behind a name of somebody's own: ``our-chat (Qwen/Qwen3-8B)``; a word among others is not one."""
    parts = (part.strip() for inside in re.findall(r"\(([^()]*)\)", name) for part in inside.split(","))
    found = next((each for part in parts if part and " " not in part and (each := find(part)) is not None), None)
    return replace(found, name=name, own=False, taken=found.taken or found.name) if found is not None else None


def of_its_maker(name: str) -> bool:
    """Whether a repository is of the organisation that made the base model: makers pad what they quantize, others take it as it is."""
    plain = _plain(name)
    step: tuple[str, str | None] | None = (plain, None)
    while step is not None:
        known = _known(step[0])
        if known is not None:
            return known.partition("/")[0] == name.strip("/").partition("/")[0]
        step = _shorter(step[0])
    return False


def _variant(name: str, known: str, stored: str | None) -> Entry:
    base = entry(known)
    assert base is not None
    declared = "quantization_config" in base.config or "hf_quant_config" in base.config or bool(base.quantization)
    beside = None if stored or declared else stored_words(name)
    own = stored or beside or base.quantization
    kept = base.checkpoint_bytes if not stored and not beside else None
    return Entry(name, base.config, base.source, base.date, base.verified, own, kept, proven=base.proven, taken=known)


def names() -> tuple[str, ...]:
    """All ids of the catalog, without aliases."""
    return tuple(_tables()[0])


@cache
def siblings(name: str) -> tuple[tuple[str, int], ...]:
    """(id, bits) of models of the catalog that are the same one in fewer bits, the most bits first."""
    models, aliases = _tables()
    plain = name.rsplit("/", 1)[-1].lower()

    def bits(other: str) -> int:
        rest = other.rsplit("/", 1)[-1].lower().removeprefix(plain)
        return max((size for word, size in _BITS.items() if word in rest), default=0)

    listed = [other for other in (*models, *aliases) if other != name]
    same = [(other, bits(other)) for other in listed if other.rsplit("/", 1)[-1].lower().startswith(f"{plain}-")]
    return tuple(sorted(((other, size) for other, size in same if size), key=lambda each: (-each[1], each[0])))
