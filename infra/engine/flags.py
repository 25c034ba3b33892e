"""Shapes of vLLM's arguments, from the catalog of its flags over all versions: spelling, short forms, which take values."""

from dataclasses import dataclass
from functools import cache

from interlock.infra.catalog.vllm_flags import canonical_flag, flag_facts
from interlock.infra.catalog.vllm_tables import vllm_names

# vllm/entrypoints/openai/cli_args.py: these add up when they are given more than once (argparse action append, or lists).
_REPEATABLE = frozenset({"middleware", "api-key", "lora-modules", "prompt-adapters"})


@dataclass(frozen=True, slots=True)
class Shape:
    """How one written option is read."""

    name: str
    """The engine's own spelling without leading dashes."""
    kind: str = ""
    """switch, boolean, toggle, optional, value, list; empty for an unknown option."""
    negated: bool = False
    """``--no-x``, or the other half of a toggle."""

    @property
    def takes_value(self) -> bool:
        """Whether it reads the next argument; an unknown option does when one follows."""
        return self.kind in ("value", "list", "optional", "")

    @property
    def takes_many(self) -> bool:
        """Whether it reads all arguments up to the next option."""
        return self.kind == "list"

    @property
    def repeatable(self) -> bool:
        """Whether giving it twice adds up instead of replacing."""
        return self.name in _REPEATABLE or self.kind == "list"


@cache
def shape(written: str) -> Shape:
    """The shape of an option as written, with its dashes and without a value: ``--tensor_parallel_size``, ``-tp``, ``--no-x``."""
    option = canonical_flag(written)
    if flag_facts(option) is None:
        option = _completed(option) or option
    facts = flag_facts(option)
    kind = str(facts["kind"]) if facts else ""
    plain = written.replace("_", "-")
    negated = kind in ("boolean", "toggle") and plain.startswith(("--no-", "--disable-")) and not plain.startswith(option)
    return Shape(option.lstrip("-"), kind, negated)


def _completed(option: str) -> str | None:
    """The only long option that begins with ``option``: argparse accepts such beginnings."""
    if not option.startswith("--") or len(option) < 6:
        return None
    matches = [name for name in vllm_names("flags").spans if name.startswith(option)]
    return matches[0] if len(matches) == 1 else None


# Flags of kserve/python/huggingfaceserver/huggingfaceserver/__main__.py and kserve/model_server.py that vLLM lacks, or has no longer.
_OWN = {
    "huggingfaceserver": frozenset(
        {"model-id", "model-dir", "http-port", "task", "tokenizer-revision", "disable-log-requests", "max-log-len", "trust-remote-code"}
    )
}


def own_flag(entrypoint: str, name: str) -> bool:
    """Whether the launcher around vLLM has a flag of that name itself, so that vLLM's parser is not asked."""
    return name in _OWN.get(entrypoint, ())
