"""Parses command lines with versions of vLLM as ``vllm serve`` does; no engine is started.

Runs on the engine environment's Python, and imports nothing of this project. What all versions import from others is imported once,
and each version then answers in a process that was forked from there.

usage: worker.py JOBS.json, a list of {"asked": file, "told": file, "folder": of another version's Python files, or null}. A job that
asks nothing is told the fields of each argument that is an object of a class.
"""

import contextlib
import dataclasses
import importlib
import json
import os
import sys
import typing
from pathlib import Path
from typing import Any, NoReturn

HOMES = ("vllm.entrypoints.common.cli_args", "vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
"""Where the parser is made, by version."""
SHARED = ("torch", "torch._dynamo", "torch._inductor.compile_fx", "torch.distributed", "transformers", "transformers.models.auto",
          "openai.types.responses", "fastapi", "aiohttp", "cv2", "huggingface_hub", "tvm_ffi", "prometheus_client")  # fmt: skip


def commands() -> Any:
    """The module that makes the parser."""
    for name in HOMES:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):
                raise
    raise SystemExit("no module makes the parser: has it moved?")


def refused(message: str) -> NoReturn:
    """In place of the parser's exit."""
    raise ValueError(message)


def answer(asked: Path, answers: Path) -> None:
    """For each command line the version's own words against it; empty when it is taken."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    module = commands()
    parser = FlexibleArgumentParser()
    serve = parser.add_subparsers(dest="subparser").add_parser("serve")
    module.make_arg_parser(serve)
    parser.error = serve.error = refused

    def told(argv: list[str]) -> str:
        try:
            found = parser.parse_args(["serve", *argv])
            module.validate_parsed_serve_args(found)
            AsyncEngineArgs.from_cli_args(found)
        except Exception as error:  # whatever a version raises is its answer
            return f"{type(error).__name__}: {error}"
        return ""

    answers.write_text(json.dumps([told(argv) for argv in json.loads(asked.read_text())]))


def hinted(annotation: Any) -> list[Any]:
    """The types that an annotation names; one in quotes names classes of the configuration."""
    if isinstance(annotation, str):
        config = importlib.import_module("vllm.config.quantization")
        return [getattr(config, name.strip(), None) for name in annotation.split("|")]
    return [annotation, *typing.get_args(annotation)]


def fields(answers: Path) -> None:
    """Argument to the names of the fields that its class has."""
    from vllm.engine.arg_utils import AsyncEngineArgs

    found = {}
    for argument in dataclasses.fields(AsyncEngineArgs):
        made = next((each for each in hinted(argument.type) if dataclasses.is_dataclass(each)), None)
        if made is not None:
            found[argument.name.replace("_", "-")] = [field.name for field in dataclasses.fields(made) if field.init]
    # Of the frontend: a map whose keys are the efforts that a request may ask for.
    efforts = typing.get_args(getattr(commands(), "ReasoningEffort", None))
    if efforts:
        found["reasoning-effort-map"] = list(efforts)
    answers.write_text(json.dumps(found))


def main(jobs: list[dict[str, str | None]]) -> int:
    """The number of versions that did not answer."""
    for name in SHARED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    failed = 0
    for job in jobs:
        child = os.fork()
        if child == 0:
            sys.path[:0] = [job["folder"]] if job["folder"] else []
            answer(Path(job["asked"]), Path(str(job["told"]))) if job["asked"] else fields(Path(str(job["told"])))
            os._exit(0)
        failed += os.waitpid(child, 0)[1] != 0
    return failed


if __name__ == "__main__":
    raise SystemExit(main(json.loads(Path(sys.argv[1]).read_text())))
