"""Regenerates tests/engine/oracle.jsonl: python -m tools.oracle [--versions V ...] [--models M ...] [--fresh] [--activation].

The file's own answers are where a run starts: only questions that are not answered in it are asked; --fresh asks again. Answers are
kept per version and model, so that a run can be stopped and taken up again, and every model that is through is written into the
file at once. One version takes an environment of about 9 GB and, for all questions, half an hour of one core.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

from tools.common import ROOT, ToolError, home, run_main, say
from tools.oracle import activations, catalog, environment, questions

VERSIONS = ("0.26.0", "0.29.0", "0.33.0")
TARGET = ROOT / "tests" / "engine" / "oracle.jsonl"


def answers(version: str) -> Path:
    return home() / "oracle" / "answers" / version


def seed() -> None:
    """Take the file's answers as the kept ones where this machine has none."""
    found: dict[tuple[str, str], list[str]] = {}
    for text in TARGET.read_text(encoding="utf-8").splitlines(keepends=True) if TARGET.exists() else ():
        line = json.loads(text)
        found.setdefault((line["vllm"], line["model"]), []).append(text)
    for (version, name), texts in found.items():
        path = answers(version) / f"{name}.jsonl"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(texts), encoding="utf-8")


def assemble() -> int:
    """Write the answers to all questions that are asked into the file, by version and in the catalog's order; returns the lines."""
    lines: list[str] = []
    for version in VERSIONS:
        for name, model in catalog.models().items():
            kept = questions.kept(answers(version) / f"{name}.jsonl")
            if kept and version in model.versions:
                lines += questions.written(model, kept)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def open_questions(version: str, name: str) -> int:
    """How many questions about a model are not answered yet."""
    kept = questions.kept(answers(version) / f"{name}.jsonl")
    return sum(question.key not in kept for question in questions.of(catalog.models()[name]))


def ask(version: str, names: list[str]) -> None:
    """Ask one version what it has not answered yet."""
    known = catalog.models()
    missing = [n for n in names if version in known[n].versions and open_questions(version, n)]
    if not missing:
        return
    env = environment.ensure(version)
    command = [str(env / "bin" / "python"), "-m", "tools.oracle.worker", str(home() / "oracle" / "models"), str(answers(version)), *missing]
    variables = os.environ | {"LD_LIBRARY_PATH": str(env / "driver"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            say(line.rstrip())
            assemble()
    if process.returncode:
        raise ToolError(f"the worker of vLLM {version} ended with {process.returncode}", code=1)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.oracle", description="vLLM's own planning answers, without a GPU.")
    parser.add_argument("--versions", nargs="+", default=VERSIONS, choices=VERSIONS)
    parser.add_argument("--models", nargs="+", help="default: all of tools/oracle/models.json")
    parser.add_argument("--fresh", action="store_true", help="ask again what was answered before")
    parser.add_argument("--activation", action="store_true", help="memory of the profile run instead: tests/engine/activation.jsonl")
    options = parser.parse_args(arguments)
    known = [n for n, m in catalog.models().items() if m.family != "draft"]
    unknown = sorted(set(options.models or ()) - set(known))
    if unknown:
        raise ToolError(f"--models: {', '.join(unknown)}: not in tools/oracle/models.json")
    names = options.models or known
    if options.activation:
        activations.regenerate(options.versions, names, fresh=options.fresh)
        return 0
    seed()
    for version in options.versions:
        for name in names if options.fresh else ():
            (answers(version) / f"{name}.jsonl").unlink(missing_ok=True)
        ask(version, names)
    say(f"{TARGET.relative_to(ROOT)}: {assemble()} lines")
    return 0


if __name__ == "__main__":
    run_main(main)
