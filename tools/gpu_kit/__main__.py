"""Repeats on a card what `python -m tools.bench.gate_real order` measures on processors: short requests beside a queue of long ones.

usage: python -m tools.gpu_kit MODEL [--shorts N] [--out FILE] [-- FURTHER ARGUMENTS OF VLLM]
       python -m tools.gpu_kit --dry                    the kit itself, on processors with the tiny model

MODEL is a folder or a repository that the `vllm` on PATH can load; the engine is started three times (fcfs, priority, priority with long
prompts in quarters), each for four queues. Needs nothing of the network where MODEL is a folder. The machine is otherwise idle.
"""

import argparse
import dataclasses
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.bench import gate_real
from tools.bench.gate_real import PROCESSORS, Stage
from tools.common import ToolError, run_main, say
from tools.runtime.testing import MIDDLEWARE, Container

CROWD = {"long_prompt": 8000, "long_answer": 128, "short_prompt": 400, "short_answer": 32}
"""Characters of a prompt, about four of which are a token, and tokens of an answer."""


@dataclass
class CardContainer(Container):
    """The vLLM of this machine."""

    model: str = ""
    further: tuple[str, ...] = ()

    def serve(self) -> tuple[str, ...]:
        fixed = ("--host", "127.0.0.1", "--served-model-name", "chat", "--max-model-len", "8192", "--middleware", MIDDLEWARE)
        return ("vllm", "serve", self.model, "--port", str(self.port), *fixed, *self.arguments, *self.further)

    def inside(self) -> dict[str, str]:
        return {"VLLM_NO_USAGE_STATS": "1", "PATH": os.environ["PATH"]}


def on_card(model: str, further: tuple[str, ...]) -> Stage:
    """An engine of 64 places and 2,048 tokens in a step."""

    def make(archive: Path, folder: Path) -> Container:
        return CardContainer(archive, folder, folder, spec={"access": str(folder)}, patience=1800, model=model, further=further)

    return Stage(make, CROWD, places=64, step=2048, queues=(32, 64, 128, 512))


def main(arguments: list[str]) -> int:
    """Measures, and writes what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu_kit", description="Short requests beside a standing queue, on a card.")
    parser.add_argument("model", nargs="?", help="folder or repository of the model")
    parser.add_argument("--shorts", type=int, default=200, help="short requests in each cell (200)")
    parser.add_argument("--out", type=Path, help="write all durations as JSON")
    parser.add_argument("--dry", action="store_true", help="on processors, with the tiny model")
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    options = parser.parse_args(own)
    if not (options.model or options.dry):
        raise ToolError("no MODEL: name a folder or a repository, or try the kit by --dry")
    stage = on_card(options.model, tuple(arguments[len(own) + 1 :]))
    if options.dry:
        stage, options.shorts = dataclasses.replace(PROCESSORS, queues=(8,), held=0, tries=1), min(options.shorts, 20)
    with tempfile.TemporaryDirectory(prefix="interlock-kit-") as name:
        found = gate_real.ordered(stage, Path(name), options.shorts)
    gate_real.tell(stage, found)
    if options.out:
        rows = [{"way": way, "waiting": queue, **dataclasses.asdict(seen)} for (way, queue), seen in found.items()]
        options.out.write_text(json.dumps(rows))
        say(f"written: {options.out}")
    return 0


if __name__ == "__main__":
    run_main(main)
