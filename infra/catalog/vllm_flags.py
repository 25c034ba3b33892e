"""Flags, metrics and environment variables of vLLM by version: does this one exist, and what replaced it."""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from interlock.infra.catalog.vllm_tables import Span, Standing, Status, vllm_names

_NEGATABLE = frozenset({"boolean", "toggle"})
_SUFFIXES = ("_total", "_bucket", "_sum", "_count", "_created")
_HELP = frozenset({"-h", "--help"})
_NAMES = 4096
"""Names whose standing is remembered: manifests repeat the same few, and anybody may write any."""


@cache
def _aliases() -> dict[str, str]:
    """Short (and second long) form -> option; the newest version decides."""
    return {alias: name for name, spans in vllm_names("flags").spans.items() for span in spans for alias in span.facts.get("aliases", ())}


def _written(name: str) -> str:
    """As the parser reads it: without `=value` and `.json.path`, `_` as `-` in long options, `-O3` as `-O`."""
    head = name.split("=", 1)[0]
    if not head.startswith("--"):
        return "-O" if head.startswith("-O") else head.split(".", 1)[0]
    return head.split(".", 1)[0].rstrip("+").replace("_", "-")


def _forms(name: str) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Options that `name` may be a form of, with the kinds of option that have such a form (None: all)."""
    spans = vllm_names("flags").spans
    yield name, None
    if name in _aliases():
        yield _aliases()[name], None
    for prefix, inverse, kinds in (
        ("--no-", "--", _NEGATABLE),
        ("--disable-", "--enable-", {"toggle"}),
        ("--enable-", "--disable-", {"toggle"}),
    ):
        option = inverse + name.removeprefix(prefix)
        if name.startswith(prefix) and any(s.facts["kind"] in kinds for s in spans.get(option, ())):
            yield option, frozenset(kinds)


@lru_cache(maxsize=_NAMES)
def canonical_flag(name: str) -> str:
    """The option a written form belongs to: `-tp`, `--tensor_parallel_size=2` -> `--tensor-parallel-size`; `--no-x` -> `--x`."""
    written = _written(name)
    known = [option for option, _ in _forms(written) if option in vllm_names("flags").spans]
    return known[0] if known else written


def _flag_at(name: str, version: str | None) -> Span | str | None:
    """The span of a written form in `version`: a form that its option lacks there (--no-x of a plain switch) is absent."""
    outcomes: list[Span | str | None] = []
    for option, kinds in _forms(name):
        span = vllm_names("flags").at(option, version)
        if isinstance(span, Span) and (kinds is not None and span.facts["kind"] not in kinds):
            span = None
        if isinstance(span, Span) and option != name and kinds is None and name not in span.facts.get("aliases", ()):
            span = None
        outcomes.append(span)
    return next((o for o in outcomes if isinstance(o, Span)), next((o for o in outcomes if o), None))


@lru_cache(maxsize=_NAMES)
def flag_status(name: str, version: str | None) -> Status:
    """Whether `vllm serve` of `version` takes `name` (any written form, also an unambiguous beginning, as argparse does)."""
    written = _written(name)
    if written in _HELP:
        return Status(Standing.EXISTS)
    span = _flag_at(written, version)
    if span is None and (full := _abbreviated(written, version)):
        written, span = full, _flag_at(full, version)
    if isinstance(span, Span):
        spans = vllm_names("flags").spans[canonical_flag(written)]
        return Status(Standing.EXISTS, since=spans[0].since, until=spans[-1].until, deprecated=bool(span.facts.get("deprecated")))
    if span is not None:
        return Status(Standing.UNSURE)
    status = vllm_names("flags").absent(written if written in vllm_names("flags").replacements else canonical_flag(written), version)
    return _checked(status, version)


def _checked(status: Status, version: str | None) -> Status:
    """A replacement that `version` does not have either does not count."""
    if status.to and status.to.startswith("-") and version and vllm_names("flags").at(status.to, version) is None:
        return Status(Standing.REMOVED if status.since else Standing.UNKNOWN, None, status.note, status.since, status.until)
    return status


def _abbreviated(name: str, version: str | None) -> str | None:
    """The only long option of `version` that begins with `name`, if there is exactly one."""
    if not name.startswith("--") or len(name) < 4:
        return None
    table = vllm_names("flags")
    there = {o: span for o in table.spans if o.startswith("--") and isinstance(span := table.at(o, version), Span)}
    negated = ["--no-" + o[2:] for o in there if _kind(o, version) in _NEGATABLE]
    forms = [*there, *negated, *(alias for span in there.values() for alias in span.facts.get("aliases", ()))]
    matches = {f for f in forms if f.startswith(name)}
    return matches.pop() if len(matches) == 1 else None


def _kind(option: str, version: str | None) -> str | None:
    facts = flag_facts(option, version)
    return None if facts is None else str(facts["kind"])


def flag_facts(name: str, version: str | None = None) -> dict[str, Any] | None:
    """Kind (switch, boolean, toggle, optional, value, list), type, choices, default, config class; without a version the newest known."""
    option = canonical_flag(name)
    span = vllm_names("flags").at(option, version) if version else None
    spans = vllm_names("flags").spans.get(option)
    if isinstance(span, Span):
        return dict(span.facts)
    return dict(spans[-1].facts) if spans else None


def takes_value(flag: str, version: str | None = None) -> bool | None:
    """Whether the next argument belongs to `flag`; None for an unknown flag. An optional value (`--hf-token`) counts as taken."""
    written = _written(flag)
    if "=" in flag:
        return False
    kind = _kind(written, version)
    return None if kind is None else kind in ("value", "list", "optional")


def _metric_key(name: str) -> str:
    """`ray_vllm_x`, `ray_vllm:x` and `vllm_x` -> `vllm:x`; a sample's suffix is cut unless the name itself ends so."""
    base = name.removeprefix("ray_").replace("vllm_", "vllm:", 1) if name.startswith(("ray_vllm", "vllm_")) else name
    suffix = next((s for s in _SUFFIXES if base.endswith(s)), "")
    known = (vllm_names("metrics").spans, vllm_names("metrics").replacements)
    return base if any(base in k for k in known) else base.removesuffix(suffix)


@lru_cache(maxsize=_NAMES)
def metric_status(name: str, version: str | None) -> Status:
    """Whether `version` exports the metric (also by a sample's name or Ray's). One hidden by default counts as renamed or removed."""
    key = _metric_key(name)
    span = vllm_names("metrics").at(key, version)
    if isinstance(span, Span) and span.facts.get("hidden"):
        replacement = vllm_names("metrics").replacements.get(key)
        to = replacement.to if replacement else None
        return Status(
            Standing.RENAMED if to else Standing.REMOVED, to, "exported only with --show-hidden-metrics-for-version", span.since, span.until
        )
    if isinstance(span, Span):
        spans = vllm_names("metrics").spans[key]
        return Status(Standing.EXISTS, since=spans[0].since, until=spans[-1].until)
    return Status(Standing.UNSURE) if span else vllm_names("metrics").absent(key, version)


@lru_cache(maxsize=_NAMES)
def env_status(name: str, version: str | None) -> Status:
    """Whether `version` reads the environment variable; a replacement may be a flag."""
    span = vllm_names("env").at(name, version)
    if isinstance(span, Span):
        spans = vllm_names("env").spans[name]
        return Status(Standing.EXISTS, since=spans[0].since, until=spans[-1].until)
    return Status(Standing.UNSURE) if span else _checked(vllm_names("env").absent(name, version), version)


def comes_later(name: str, version: str | None) -> bool:
    """Whether `version` (empty or None: not known, so no) lacks a flag or variable that a later one brought."""
    status = flag_status if name.startswith("-") else env_status
    return bool(version) and status(name, version).standing is Standing.NOT_YET
