"""``interlock size``: memory of one model on one GPU, without a stack."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from interlock.infra.errors import REFUSED, ConfigError, Problem
from interlock.stacks.model_config import read_config

Model = Annotated[
    str | None, typer.Option("--model", "-m", help="Catalog id, or the path of a config.json or of the folder that holds one.")
]
Gpu = Annotated[str | None, typer.Option("--gpu", "-g", help="GPU name, as the data sheet, nvidia-smi or a node label spells it.")]
GpuMemory = Annotated[float | None, typer.Option("--gpu-total-gib", help="Total memory as CUDA reports it, in GiB.")]
Mig = Annotated[str | None, typer.Option("--mig-profile", help="MIG slice, such as 3g.40gb.")]
Tp = Annotated[int | None, typer.Option("--tp", "--tensor-parallel-size", min=1, max=1024)]
Pp = Annotated[int | None, typer.Option("--pp", "--pipeline-parallel-size", min=1, max=1024)]
Dp = Annotated[int | None, typer.Option("--dp", "--data-parallel-size", min=1, max=65536)]
Length = Annotated[str | None, typer.Option("--max-model-len", help="As vLLM takes it: 32768, 32k, 32K; auto or -1: as long as fits.")]
Version = Annotated[str | None, typer.Option("--vllm-version")]
Argument = Annotated[list[str] | None, typer.Option("--arg", "-a", help="Any engine argument by its vLLM name: -a max_num_seqs=64.")]
Lines = Annotated[
    Path | None, typer.Option("--jsonl", help="One case per line (docs/size.md); prints one JSON line per case. - reads standard input.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of tables.")]


def size(  # noqa: PLR0917  (options of a command, given by name)
    model: Model = None,
    gpu: Gpu = None,
    tp: Tp = None,
    pp: Pp = None,
    dp: Dp = None,
    max_model_len: Length = None,
    gpu_memory_utilization: Annotated[float | None, typer.Option("--gpu-memory-utilization", min=0.01, max=1.0)] = None,
    kv_cache_dtype: Annotated[str | None, typer.Option("--kv-cache-dtype")] = None,
    quantization: Annotated[str | None, typer.Option("--quantization")] = None,
    vllm_version: Version = None,
    gpu_total_gib: GpuMemory = None,
    mig_profile: Mig = None,
    arg: Argument = None,
    jsonl: Lines = None,
    as_json: AsJson = False,
) -> None:
    """Does a model fit a GPU? Weights, KV cache, activation and graphs with their uncertainty. Exit 1: it does not fit."""
    if jsonl is not None:
        _answer_lines(jsonl)
        return
    stated = {
        **{"model": model, "gpu": gpu, "tp": tp, "pp": pp, "dp": dp, "max_model_len": max_model_len, "vllm_version": vllm_version},
        **{"gpu_memory_utilization": gpu_memory_utilization, "kv_cache_dtype": kv_cache_dtype, "quantization": quantization},
        **{"gpu_total_gib": gpu_total_gib, "mig_profile": mig_profile},
    }
    _answer(_with_config({**stated, **dict(map(_argument, arg or ()))}), as_json=as_json)


def _answer(case: dict[str, Any], *, as_json: bool) -> None:
    from rich.console import Console

    from interlock.cli.explain import render_budget
    from interlock.cli.size_lines import request_of
    from interlock.infra.sizing import Verdict
    from interlock.infra.sizing import size as size_request

    problems = list(_unknown_names(case))
    request, strange = request_of({name: value for name, value in case.items() if name not in {field for field, _ in problems}})
    told = [problem for _, problem in problems] + [Problem("", text, "interlock size") for text in strange]
    if told:
        raise ConfigError(told)
    result = size_request(request)
    if as_json:
        print(result.model_dump_json(indent=2))
    else:
        Console().print(render_budget(result, title=f"{case.get('model')} on {case.get('gpu') or 'a GPU'}"))
    if result.verdict is Verdict.DOES_NOT_FIT:
        raise typer.Exit(REFUSED)


def _unknown_names(case: dict[str, Any]) -> Iterator[tuple[str, Problem]]:
    """(field, problem) of every name that nobody knows, with the nearest ones: of the model, the GPU, the version or an argument."""
    from interlock.infra.catalog import gpus, models
    from interlock.infra.catalog.near import near_gpus, near_models

    model, card = str(case.get("model") or ""), str(case.get("gpu") or "")
    if not model and not case.get("config"):
        yield "model", Problem("--model", "is not given: a catalog id, or the path of a config.json", "interlock size")
    elif not case.get("config") and models.find(model) is None:
        where = "is neither a file or folder nor in the catalog" if model.startswith((".", "/", "~")) else "is not in the catalog"
        yield "model", Problem("--model", f"{model!r} {where}{near_models(model)}; give the path of its config.json", "interlock size")
    if card and gpus.gpu(card) is None and not case.get("gpu_total_gib"):
        yield "gpu", Problem("--gpu", f"{card!r} is not in the catalog{near_gpus(card)}; or say --gpu-total-gib", "interlock size")
    listed, profile = gpus.gpu(card) if card else None, str(case.get("mig_profile") or "")
    if listed and profile and not (listed.geometry and listed.geometry.profile(profile)):
        has = ", ".join(each.name for each in listed.geometry.profiles) if listed.geometry else "none"
        yield "mig_profile", Problem("--mig-profile", f"{profile!r} is not a profile of {listed.name}; it has: {has}", "interlock size")
    if not card and not case.get("gpu_total_gib") and not case.get("given_kv_gib"):
        yield "gpu", Problem("--gpu", "is not given: a GPU name, or --gpu-total-gib", "interlock size")
    yield from _unknown_arguments(case)


def _unknown_arguments(case: dict[str, Any]) -> Iterator[tuple[str, Problem]]:
    from interlock.cli.size_lines import FIELDS, argument_of
    from interlock.infra.catalog.near import nearest
    from interlock.infra.catalog.vllm_tables import vllm_names
    from interlock.infra.values import Version

    version = case.get("vllm_version")
    if version is not None and Version.find(str(version)) is None:
        yield "vllm_version", Problem("--vllm-version", f"{version!r} is not a version: write it as 0.33.0", "interlock size")
    for name in case:
        if name not in FIELDS and not argument_of(name):
            options = {option.removeprefix("--").replace("-", "_") for option in vllm_names("flags").spans if option.startswith("--")}
            near = nearest(name.lower(), {each: each for each in (*options, *FIELDS)})
            yield name, Problem("--arg", f"{name!r} is not an argument of vLLM{near}", "interlock size")


def _argument(text: str) -> tuple[str, Any]:
    """``name=value`` with the value as JSON where it is JSON."""
    name, separator, value = text.partition("=")
    if not separator:
        raise ConfigError([Problem("--arg", f"{text!r} is not name=value", "interlock size")])
    try:
        return name.strip().lstrip("-").replace("-", "_"), json.loads(value)
    except ValueError:
        return name.strip().lstrip("-").replace("-", "_"), value


def _with_config(case: dict[str, Any]) -> dict[str, Any]:
    """A model that is a path is read: config.json, and the sum of the tensors when the index beside it says so."""
    path = Path(str(case.get("model") or ""))
    if not case.get("model") or not (path.suffix == ".json" or path.is_dir()):
        return case
    folder = path if path.is_dir() else path.parent
    config = _json_object(path)
    index = folder / "model.safetensors.index.json"
    metadata = _json_object(index).get("metadata") if index.exists() else None
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return {**case, "config": config, "checkpoint_bytes": total if isinstance(total, int) and total > 0 else None}


def _json_object(path: Path) -> dict[str, Any]:
    try:
        return read_config(path)
    except ValueError as error:
        raise ConfigError([Problem("--model", str(error), str(path))]) from None


def _answer_lines(path: Path) -> None:
    from interlock.cli.size_lines import answer_of

    for number, line in enumerate(_read_lines(path), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except (ValueError, RecursionError):
            case = None
        if isinstance(case, dict):
            answer = answer_of(case)
        else:
            answer = {"id": None, "verdict": "unsure", "reasons": [f"line {number} is not a JSON object"], "unknown": []}
        print(json.dumps(answer))


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


__all__ = ["size"]
