"""Engine arguments against the engine's version: flags, values and variables that it lacks."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

from interlock.infra.catalog.hub import TOKENS
from interlock.infra.catalog.near import like
from interlock.infra.catalog.vllm_flags import env_status, flag_status
from interlock.infra.catalog.vllm_tables import Standing, Status, vllm_names
from interlock.infra.engine.flags import own_flag
from interlock.infra.facts import Bundle, Flag, Workload
from interlock.infra.rules.findings import Fix, Severity
from interlock.infra.rules.gpu_devices import official
from interlock.infra.rules.reading.units import engine_containers
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule
from interlock.infra.rules.sto_files import TOKEN_NAMES

SOURCE = "vllm/engine/arg_utils.py and vllm/entrypoints/openai/cli_args.py of the wheels 0.5.5 to 0.33.0"
CLI = ("https://docs.vllm.ai/en/latest/cli/serve/",)

_GONE = (Standing.RENAMED, Standing.REMOVED, Standing.NOT_YET, Standing.UNKNOWN)


def version_text(workload: Workload) -> str | None:
    """The engine's version as it is stated; None when it is not known."""
    version = workload.engine.version
    return str(version.value) if version.known else None


def _typo(name: str, names: Iterable[str]) -> str:
    """The only name that differs by a letter or two, or that was written out: a guess is given for slips, not for other meanings."""
    begun = [like for like in names if len(like) > 10 and 0 < len(name.removeprefix(like)) <= 4]
    if len(begun) == 1:
        return begun[0]
    close = [like for like in get_close_matches(name, list(names), 3, 0.8) if _letters(name, like) <= 2]
    return close[0] if len(close) == 1 else ""


def _letters(one: str, other: str) -> int:
    edits = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for kind, a, b, c, d in edits if kind != "equal")


_SAME_VALUE = re.compile(r"|.*'s name(;.*)?|the short form is .*")
_VALUE = re.compile(r"value (\S+)")


def _change(flag: Flag, to: str | None, note: str) -> tuple[str, tuple[Fix, ...]]:
    """The remedy for a flag that goes: its replacement, with the value where that is plain, or none at all."""
    because = f" ({note})" if note else ""
    away = drop(flag.path, flag=flag.name)
    if not to:
        return f"remove {'--' if len(flag.name) > 1 else '-'}{flag.name}{because}", away
    fixed = _VALUE.fullmatch(note)
    if fixed:
        return f"write {to} {fixed[1]}", away + put(flag.path, fixed[1], flag=to.lstrip("-"))
    if flag.value.known and _SAME_VALUE.fullmatch(note):
        return f"write {to}{because}", away + put(flag.path, flag.value.get(), flag=to.lstrip("-"))
    return f"use {to}{because}", ()


def _why(status: Status, version: str | None) -> str:
    at = f"vLLM {version}" if version else "the newest vLLM" if status.since else "any vLLM version"
    if status.standing is Standing.NOT_YET:
        return f"comes with vLLM {status.since}, and this is {version}"
    if status.since and status.until:
        return f"was removed after {status.until}, and this is {at}" if version else f"was removed after {status.until}"
    return f"is not a flag of {at}"


@rule(
    "ARG-001",
    Severity.ERROR,
    demand="Every flag exists in the engine's version.",
    reason="vLLM's parser refuses an unknown flag and exits with 2: the pod never starts.",
    source=SOURCE,
    remedy="Use the replacement, or pin the version that has the flag.",
    fault="unknown-flag",
    links=CLI,
)
def unknown_flags(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    version = version_text(workload)
    for flag in unique(workload):
        if own_flag(workload.engine.entrypoint, flag.name):
            continue
        option = f"--{flag.name}" if len(flag.name) > 1 else f"-{flag.name}"
        status = flag_status(option, version)
        newest = status if status.standing in _GONE else _in_newest(option, status, version)
        if newest is None or (version and status.standing is Standing.UNSURE):
            continue
        never = newest.standing is Standing.UNKNOWN or (newest.standing is Standing.RENAMED and not newest.since)
        certain = official(workload) and workload.engine.parsed and (version is not None or never)
        guess = _typo(option, vllm_names("flags").spans) if never and not newest.note and newest.to is None else ""
        remedy, fixes = _change(flag, newest.to or guess, newest.note)
        text = f"{option} {_why(newest, version)}; the parser exits with code 2 before the model is loaded"
        level = Severity.ERROR if certain else Severity.WARNING
        yield Hit(flag.path, text, remedy, flag.raw or option, severity=level, fixes=fixes)


def unique(workload: Workload) -> Iterable[Flag]:
    """The flags that count: the last of each name."""
    return {flag.name: flag for flag in workload.engine.flags}.values()


def _in_newest(option: str, status: Status, version: str | None) -> Status | None:
    """For an engine whose version is not stated: the standing in the newest version, when it is gone there."""
    if version is not None or status.standing is not Standing.UNSURE:
        return None
    newest = flag_status(option, vllm_names("flags").versions[-1])
    return newest if newest.standing in _GONE else None


@rule(
    "ARG-002",
    Severity.WARNING,
    demand="No flag is deprecated in the engine's version.",
    reason="The next upgrade turns it into an unknown flag, which stops the engine.",
    source=SOURCE,
    remedy="Use the replacement now.",
    links=CLI,
)
def deprecated_flags(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    version = version_text(workload)
    for flag in unique(workload):
        status = flag_status(f"--{flag.name}", version)
        if status.exists and status.deprecated:
            replacement = vllm_names("flags").replacements.get(f"--{flag.name}")
            remedy, fixes = _change(flag, replacement.to if replacement else None, replacement.note if replacement else "")
            text = f"--{flag.name} is deprecated in {f'vLLM {version}' if version else 'the newest vLLM'} and will be refused later"
            yield Hit(flag.path, text, remedy, flag.raw, fixes=fixes)


@rule(
    "ARG-004",
    Severity.WARNING,
    demand="A flag is given once.",
    reason="The last one counts, so the reader of the first is misled.",
    source="Python documentation, argparse: a stored value is overwritten",
    remedy="Keep one of them.",
    fault="dup-flag",
)
def duplicates(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for problem in workload.engine.problems:
        if problem.kind == "dup-flag":
            yield Hit(problem.path, problem.text, "keep the one that is meant", problem.text.split(" ")[0])


@rule(
    "ARG-005",
    Severity.ERROR,
    demand="The argument text can be parsed.",
    reason="The parser sees words that are not flags and exits with 2.",
    source="vllm/utils/argparse_utils.py; Kubernetes passes each list item as one word",
    remedy="Write --flag=value, or flag and value as two list items.",
    fault="broken-arg",
    links=("https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/",),
)
def broken(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for problem in workload.engine.problems:
        if problem.kind == "broken-arg":
            yield Hit(problem.path, problem.text, problem.remedy)


@rule(
    "ARG-006",
    Severity.ERROR,
    demand="Flags stand in args, or command starts the engine itself.",
    reason="command replaces the image's entrypoint: the container runtime tries to run the first flag as a program.",
    source="Kubernetes documentation, 'Define a Command and Arguments for a Container'",
    remedy="Move the flags to args.",
    fault="entrypoint-replaced",
    links=("https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/",),
)
def entrypoint_replaced(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for problem in workload.engine.problems:
        if problem.kind == "entrypoint-replaced":
            yield Hit(problem.path, problem.text, 'move the flags to args, or start command with ["vllm", "serve"]')


@rule(
    "ARG-007",
    Severity.WARNING,
    demand="Variables with the engine's prefix are ones that its version reads.",
    reason="An unread variable does nothing, for example VLLM_TENSOR_PARALLEL_SIZE: the engine then runs with its default.",
    source="vllm/envs.py of the wheels 0.5.5 to 0.33.0; huggingface_hub environment variables",
    remedy="Use the flag or the variable that is read.",
    fault="misspelled-env",
    links=("https://docs.vllm.ai/en/latest/configuration/env_vars/",),
)
def environment(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    version = version_text(workload)
    if workload.engine.entrypoint in ("script", "image") and not workload.engine.complete:
        return  # A start script of the image may read any variable.
    for _, container in engine_containers(workload):
        line = " ".join(word for fact in (container.command, container.args) if fact.known for word in fact.get())
        if _SCRIPT.search(line):
            continue  # A script that runs before may read any variable.
        for name, fact in container.env.items():
            if re.search(rf"\$[({{]?{re.escape(name)}\b", line):
                continue
            if name in TOKEN_NAMES and not any(right in container.env for right in TOKENS):
                text = f"nothing in the engine reads {name}; the Hugging Face client reads HF_TOKEN"
                yield Hit(fact.path, text, "rename it to HF_TOKEN", name)
            if not name.startswith("VLLM_") or name.startswith(_NOT_ENGINE):
                continue
            status = env_status(name, version)
            if version is None and status.standing is Standing.UNSURE:
                status = env_status(name, vllm_names("env").versions[-1])
            if status.standing is Standing.UNKNOWN and workload.engine.entrypoint == "operator":
                continue  # The operator's own command line may read it.
            if status.standing in _GONE:
                yield _variable(name, fact.path, status, version)


_SCRIPT = re.compile(r"(^|[\s;&|])(\S+\.(sh|bash|py)|source|\.)(?=[\s;&|]|$)")
_NOT_ENGINE = (
    "VLLM_OMNI_",
    "VLLM_ASCEND_",
    "VLLM_GAUDI_",
    "VLLM_HPU_",
    "VLLM_SPYRE_",
    "VLLM_NEURON_",
    "VLLM_SKIP_WARMUP",
    "VLLM_PROMPT_",
    "VLLM_DECODE_",
)


def _variable(name: str, path: str, status: Status, version: str | None) -> Hit:
    retired = status.standing is Standing.REMOVED and not status.to
    near = status.to or ("" if retired else like(name, vllm_names("env").spans))
    if status.standing is Standing.UNKNOWN and not status.to:
        text = f"vLLM reads no variable {name}, so this does nothing"
    elif status.standing is Standing.NOT_YET:
        text = f"vLLM {version} does not read {name} yet (it comes with {status.since})"
    else:
        spanned = f" (read from {status.since} to {status.until})" if status.since else ""
        text = f"{f'vLLM {version}' if version else 'the newest vLLM'} does not read {name}{spanned}"
    note = f": {status.note}" if status.note else ""
    near = "" if near == name else near
    entry = path.removesuffix(".value")
    fixes = () if near else drop(entry) if path.endswith(".value") else ()
    return Hit(path, text + note, f"use {near}" if near else "remove it", name, fault="dead-value" if retired else "", fixes=fixes)
