"""``interlock size``: memory of one model on one GPU, without a stack."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from interlock.cli.size_grid import answer_grid, several
from interlock.cli.size_lines import FIELDS, LEFT_OUT, answer_of, argument_of, of_counted_cards, request_of
from interlock.cli.size_model import cached, described
from interlock.infra.catalog import gpus, models
from interlock.infra.catalog.near import near_gpus, near_models, nearest
from interlock.infra.catalog.vllm_tables import vllm_names
from interlock.infra.engine.choices import Unlisted, unlisted, unregistered
from interlock.infra.errors import REFUSED, ConfigError, Problem
from interlock.infra.sizing import SizingResult, Verdict
from interlock.infra.sizing import size as size_request
from interlock.infra.sizing.model.quantization import Scheme
from interlock.infra.sizing.model.quantization_words import parse_quantization
from interlock.infra.values import Version

_STATED = (
    *("model", "gpu", "tp", "pp", "dp", "max_model_len", "gpu_memory_utilization", "kv_cache_dtype", "quantization"),
    *("vllm_version", "gpu_total_gib", "mig_profile"),
)


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    add = parser.add_argument
    add("named", metavar="MODEL", nargs="?", help="the same as --model")
    add("--model", "-m", help="catalog id, or the path of a config.json or of the folder that holds one")
    add("--gpu", "-g", help="GPU name, as the data sheet, nvidia-smi or a node label spells it; 2x A6000 for several")
    add("--tp", "--tensor-parallel-size", dest="tp", metavar="N", type=_each(int, 1, 1024), help="tensor parallel size")
    add("--pp", "--pipeline-parallel-size", dest="pp", metavar="N", type=_each(int, 1, 1024), help="pipeline parallel size")
    add("--dp", "--data-parallel-size", dest="dp", metavar="N", type=_each(int, 1, 65536), help="data parallel size")
    add("--max-model-len", metavar="TOKENS", help="as vLLM takes it: 32768, 32k, 32K; auto or -1: as long as fits")
    add("--gpu-memory-utilization", metavar="SHARE", type=_each(float, 0.01, 1.0), help="share of the card that the engine may use")
    add("--kv-cache-dtype", metavar="TYPE", help="type of the KV cache")
    add("--quantization", metavar="METHOD", help="as the engine's argument")
    add("--vllm-version", metavar="VERSION", help="such as 0.33.0 (default: the newest known)")
    add("--gpu-total-gib", metavar="GIB", type=float, help="total memory as CUDA reports it")
    add("--mig-profile", metavar="PROFILE", help="MIG slice, such as 3g.40gb")
    add("--arg", "-a", metavar="NAME=VALUE", action="append", default=[], help="any engine argument by its vLLM name; may be repeated")
    add("--jsonl", type=Path, metavar="FILE", help="one case per line (docs/size.md), one JSON line per answer; - reads standard input")
    add("--json", action="store_true", help="JSON instead of tables")
    add("--plot", type=Path, metavar="FILE.svg", help="draw the card as a stacked bar with its uncertainty")
    parser.epilog = "Several values between commas give one table of what fits: --max-model-len 8k,16k,32k --tp 1,2,4 --gpu l4,h100"


def _each(kind: Callable[[str], float], least: float, most: float) -> Callable[[str], float | str]:
    """Reads one number, or several between commas, which stay a text."""

    def one(text: str) -> float:
        try:
            found = kind(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not a number such as {least}") from None
        if not least <= found <= most:
            raise ArgumentTypeError(f"{text} is not between {least} and {most}")
        return found

    def read(text: str) -> float | str:
        found = [one(part) for part in text.split(",")]
        return found[0] if len(found) == 1 else text

    return read


def run(options: Namespace) -> int:
    """Does a model fit a GPU? Weights, KV cache, activation and graphs with their uncertainty. Exit 1: it does not fit."""
    if options.jsonl is not None:
        _answer_lines(options.jsonl)
        return 0
    if options.named and options.model not in (None, options.named):
        raise ConfigError([Problem("--model", f"{options.model} contradicts {options.named}: keep one of them", "interlock size")])
    stated = {name: getattr(options, name) for name in _STATED} | {"model": options.model or options.named}
    given = dict(map(_argument, options.arg))
    _refuse_two_values(stated, given)
    case = {**stated, **given}
    varied = several(case)
    if not varied:
        return _answer(case, options)
    if options.plot is not None:
        raise ConfigError([Problem("--plot", "draws one card: give one value of each option", "interlock size")])
    return answer_grid(case, varied, _sized, as_json=options.json)


def _answer(case: dict[str, Any], options: Namespace) -> int:
    result, kept = _sized(case), cached(str(case.get("model") or "")) is not None
    title = f"{case.get('model')}{' (its config.json in the local cache)' if kept else ''} on {case.get('gpu') or 'a GPU'}"
    if options.plot is not None:
        from interlock.cli.plot import write_plot  # shares its scale with the page of a plan, whose rooms no other sizing needs

        write_plot(options.plot, result, title)
    if options.json:
        print(result.to_json())
    else:
        # Tables are drawn with a library that JSON has no need to wait for.
        from rich.console import Console

        from interlock.cli.budget import render_budget

        Console().print(render_budget(result, title=title))
    return REFUSED if result.verdict is Verdict.DOES_NOT_FIT else 0


def _sized(typed: dict[str, Any]) -> SizingResult:
    """The answer to what somebody typed. Raises ConfigError with everything that is not understood."""
    case = of_counted_cards(described(typed))
    problems = list(_unknown_names(case))
    request, strange = request_of({name: value for name, value in case.items() if name not in {field for field, _ in problems}})
    told = [problem for _, problem in problems] + [Problem("", text.removesuffix(LEFT_OUT), "interlock size") for text in strange]
    ranks, cards = request.tp * request.pp * request.dp, case.get("n_gpus")
    if isinstance(cards, int) and cards != ranks:
        split = f"TP {request.tp} x PP {request.pp} x DP {request.dp} = {ranks}"
        told.append(Problem("--gpu", f"{typed.get('gpu')!r} are {cards} GPUs, {split}: leave one of them out", "interlock size"))
    if told:
        raise ConfigError(told)
    return size_request(request)


def _unknown_names(case: dict[str, Any]) -> Iterator[tuple[str, Problem]]:
    """(field, problem) of every name that nobody knows, with the nearest ones: of the model, the GPU, the version or an argument."""
    model, card = str(case.get("model") or ""), str(case.get("gpu") or "")
    if not model and not case.get("config"):
        yield "model", Problem("--model", "is not given: a catalog id, or the path of a config.json", "interlock size")
    elif not case.get("config") and models.find(model) is None:
        where = "is neither a file or folder nor in the catalog" if model.startswith((".", "/", "~")) else "is not in the catalog"
        yield "model", Problem("--model", f"{model!r} {where}{near_models(model)}; give the path of its config.json", "interlock size")
    if card and gpus.gpu(card) is None and not case.get("gpu_total_gib"):
        other = "is not an NVIDIA GPU: no figure was ever compared on one; with --gpu-total-gib the answer is `unsure`"
        unknown = f"is not in the catalog{near_gpus(card)}; or say --gpu-total-gib"
        yield "gpu", Problem("--gpu", f"{card!r} {other if gpus.not_nvidia(card) else unknown}", "interlock size")
    listed, profile = gpus.gpu(card) if card else None, str(case.get("mig_profile") or "")
    if listed and profile and not (listed.geometry and listed.geometry.profile(profile)):
        has = ", ".join(each.name for each in listed.geometry.profiles) if listed.geometry else "none"
        yield "mig_profile", Problem("--mig-profile", f"{profile!r} is not a profile of {listed.name}; it has: {has}", "interlock size")
    if not card and not case.get("gpu_total_gib") and not case.get("given_kv_gib"):
        yield "gpu", Problem("--gpu", "is not given: a GPU name, or --gpu-total-gib", "interlock size")
    yield from _unknown_arguments(case)


def _unknown_arguments(case: dict[str, Any]) -> Iterator[tuple[str, Problem]]:
    version = case.get("vllm_version")
    if version is not None and Version.find(str(version)) is None:
        yield "vllm_version", Problem("--vllm-version", f"{version!r} is not a version: write it as 0.33.0", "interlock size")
    for name, value in case.items():
        if name not in FIELDS and not argument_of(name):
            options = {option.removeprefix("--").replace("-", "_") for option in vllm_names("flags").spans if option.startswith("--")}
            near = nearest(name.lower(), {each: each for each in (*options, *FIELDS)})
            yield name, Problem("--arg", f"{name!r} is not an argument of vLLM{near}", "interlock size")
        elif isinstance(value, str) and (there := _not_taken(argument_of(name), value, version)):
            meant = f"; write {there.meant}" if there.meant else ""
            yield name, Problem(f"--{argument_of(name)}", f"{value!r} is not one of {there.some}{meant}", "interlock size")


def _not_taken(argument: str, value: str, version: str | None) -> Unlisted | None:
    """What the version takes for an argument of which ``value`` is none. Quantization may also be said in the planner's words."""
    if argument == "quantization":
        words = parse_quantization(value)
        return unregistered(argument, value, version) if words is not None and words.scheme is Scheme.UNKNOWN else None
    return unlisted(argument, value, version) if argument else None


def _refuse_two_values(stated: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raises ConfigError where an option and ``--arg`` say different things about one argument."""
    for name, value in given.items():
        for option, said in stated.items():
            if said is not None and str(said) != str(value) and (name == option or argument_of(name) == argument_of(option) != ""):
                text = f"{name}={value} contradicts --{option.replace('_', '-')} {said}: keep one of them"
                raise ConfigError([Problem("--arg", text, "interlock size")])


def _argument(text: str) -> tuple[str, Any]:
    """``name=value`` with the value as JSON where it is JSON."""
    name, separator, value = text.partition("=")
    if not separator:
        raise ConfigError([Problem("--arg", f"{text!r} is not name=value", "interlock size")])
    try:
        return name.strip().lstrip("-").replace("-", "_"), json.loads(value)
    except ValueError:
        return name.strip().lstrip("-").replace("-", "_"), value


def _answer_lines(path: Path) -> None:
    for number, line in enumerate(_read_lines(path), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except (ValueError, RecursionError):
            case = None
        if isinstance(case, dict):
            answer = answer_of(_at_hand(case))
        else:
            answer = {"id": None, "verdict": "unsure", "reasons": [f"line {number} is not a JSON object"], "unknown": []}
        print(json.dumps(answer))


def _at_hand(case: dict[str, Any]) -> dict[str, Any]:
    """The case with the config.json that the hub's local cache keeps of its model, as a single command takes it; as it is where that cannot
    be read. A line names no file of this machine: whoever wrote it may not be who asks."""
    name = case.get("model")
    if not isinstance(name, str) or case.get("config") or cached(name) is None:
        return case
    try:
        return described(case)
    except ConfigError:
        return case


def _read_lines(path: Path) -> Iterator[str]:
    if str(path) == "-":
        yield from sys.stdin
        return
    try:
        yield from path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise ConfigError([Problem("--jsonl", "is not UTF-8 text", str(path))]) from None
    except OSError as error:
        raise ConfigError([Problem("--jsonl", f"cannot be read: {error.strerror}", str(path))]) from error
