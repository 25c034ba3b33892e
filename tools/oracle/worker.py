"""Runs inside an environment with vLLM: python -m tools.oracle.worker FOLDER OUT MODEL ... writes OUT/MODEL.jsonl for each model.

vLLM is imported once; each question is answered in a fork, because vLLM keeps state per process. Questions that the file
already answers are not asked again. A file appears under its name only when the model is through, so that a sweep can be stopped
and taken up again.
"""

import contextlib
import gc
import importlib
import json
import os
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tools.oracle import fake_gpu

fake_gpu.install()
warnings.simplefilter("ignore", DeprecationWarning)

import torch  # noqa: E402
import vllm  # noqa: E402
from vllm.config import set_current_vllm_config  # noqa: E402
from vllm.model_executor.model_loader.utils import process_weights_after_loading  # noqa: E402

from tools.oracle import catalog, lines, questions, ranks  # noqa: E402

PLANNING_ERRORS = (ValueError, AssertionError, NotImplementedError, RuntimeError)
LONGEST_S = 300
PRETENCE = (
    "meta tensor",
    "Meta tensor",
    "image processor",
    "failed to be inspected",
    "does not recognize this architecture",
    "number of available GPUs",
)


def in_fork(work: Callable[[], None], preload: bool = False) -> bool:
    """Whether `work` came through in a child process.

    `preload`: afterwards this process imports vLLM's modules that the child had to import, so that the next children
    need not; importing is most of a question's time.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(LONGEST_S)
        gc.disable()  # a collection would walk (and copy) the whole inherited heap
        try:
            work()
            with os.fdopen(write, "w") as pipe:
                pipe.write("\n".join(sys.modules))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        modules = pipe.read().split("\n")
    came_through = os.waitpid(pid, 0)[1] == 0
    for name in modules if preload else ():
        if name.startswith("vllm.") and name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    if preload:
        gc.freeze()
    return came_through


class Asker:
    """Answers the questions about one model into one file."""

    def __init__(self, folder: Path, out: Path, model: catalog.Model) -> None:
        self.folder, self.out, self.model = folder, out, model
        self.warm = False

    def clean(self, text: object) -> str:
        """An error text without this machine's paths and without links."""
        found = (
            str(text).replace(f"{self.folder}/", "").replace(str(self.folder), "MODELS").replace(str(Path(vllm.__file__).parent), "vllm")
        )
        return re.sub(r"/\S*/site-packages/", "", re.sub(r"https?://\S+", "(link)", found))[:1500]

    def emit(self, **line: Any) -> None:
        with self.out.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps({"vllm": vllm.__version__, **line}, separators=(",", ":")) + "\n")

    def args(self, question: questions.Question) -> Any:
        sizes = {"tensor_parallel_size": question.tp, "pipeline_parallel_size": question.pp}
        stated = {k: v for k, v in sizes.items() if v > 1}
        return ranks.engine_args(self.folder / self.model.name, self.model.arguments, question.arguments | stated)

    def ask(self, question: questions.Question) -> None:
        head = self.head(question)
        built: list[ranks.Rank] = []
        try:
            for stage in range(question.pp):
                rank = stage * question.tp
                built.append(ranks.build(self.args(question), rank))
                if question.shapes:
                    self.shapes({"kind": question.shapes, **head, "rank": rank}, built[-1], question)
        except ranks.Refused as refusal:
            self.refused(head, refusal)
            return
        for available in question.available_gib:
            self.plan({"kind": question.kind, **head, "rank": 0, "available_gib": available}, built)

    def plan(self, head: dict[str, Any], built: list[ranks.Rank]) -> None:
        if head["kind"] == "autofit":
            head["before"] = built[0].config.model_config.max_model_len
        try:
            self.emit(**head, ok=True, **lines.plan(built, head["available_gib"]))
        except PLANNING_ERRORS as error:
            self.emit(**head, ok=False, error_type=type(error).__name__, error=self.clean(error))

    def head(self, question: questions.Question) -> dict[str, Any]:
        return {"model": self.model.name, "args": question.arguments, "tp": question.tp, "pp": question.pp}

    def unanswered(self, head: dict[str, Any], reason: object) -> None:
        """What the pretence itself breaks (a missing file, a value of a meta tensor) is no answer of vLLM's."""
        self.emit(kind="unanswered", **head, reason=self.clean(reason)[:300])

    def refused(self, head: dict[str, Any], refusal: ranks.Refused) -> None:
        cause = refusal.cause
        if isinstance(cause, OSError | ImportError) or any(words in str(cause) for words in PRETENCE):
            self.unanswered(head, f"{type(cause).__name__}: {cause}")
            return
        frames = [f for f in traceback.extract_tb(refusal.cause.__traceback__) if "vllm" in f.filename]
        at = self.clean(f"{frames[-1].filename}:{frames[-1].lineno} {frames[-1].line}") if frames else None
        kind = type(refusal.cause).__name__
        self.emit(kind="refused", **head, rank=0, stage=refusal.stage, error_type=kind, error=self.clean(refusal.cause), error_at=at)

    def shapes(self, head: dict[str, Any], rank: ranks.Rank, question: questions.Question) -> None:
        line = head | lines.shapes(rank)
        if head["rank"] == 0 and question.pp == 1 and question.tp == self.model.tp[0] and question.shapes == "model":
            bare = questions.Question({}, tp=question.tp)
            line["defaults"] = lines.defaults(lambda: self.args(bare))
        if not question.loads or not in_fork(lambda: self.after_load(line, rank)):
            self.emit(**line)

    def after_load(self, line: dict[str, Any], rank: ranks.Rank) -> None:
        """vLLM's own step after loading, on the meta tensors: shows what is repacked or added (MLA's absorbed matrices)."""
        before = lines.all_bytes(rank.model)
        try:
            with set_current_vllm_config(rank.config), torch.device("meta"), ranks.OnMeta():
                process_weights_after_loading(rank.model, rank.config.model_config, torch.device("meta"))
            line |= {"pre_load_bytes": before, "post_load_bytes": lines.all_bytes(rank.model)}
        except BaseException as error:
            line["post_load_error"] = f"{type(error).__name__}: {self.clean(error)}"[:160]
        self.emit(**line)


def answer(asker: Asker, question: questions.Question, kept: questions.Kept) -> bool:
    """Write the kept answer to a question, or ask it; whether it was asked."""
    old = kept.get(question.key)
    if old is not None:
        with asker.out.open("a", encoding="utf-8") as handle:
            handle.writelines(old)
        return False
    came_through = in_fork(partial(asker.ask, question), preload=not asker.warm)
    asker.warm = True
    if not came_through and question.key not in questions.kept(asker.out):
        asker.unanswered(asker.head(question), "the oracle's process ended")
    return True


def sweep(folder: Path, out: Path, names: list[str], ask: Callable[[catalog.Model, Path], str]) -> None:
    """One file for each model. ``ask`` appends a model's lines to the file it is given and says what it did."""
    catalog.write_folders(folder)
    known = catalog.models()
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        started = time.monotonic()
        part = out / f"{name}.part"
        part.write_text("", encoding="utf-8")
        done = ask(known[name], part)
        part.rename(out / f"{name}.jsonl")
        print(f"{vllm.__version__} {name}: {time.monotonic() - started:.0f} s, {done}", flush=True)


def main(folder: Path, out: Path, names: list[str]) -> None:
    def ask(model: catalog.Model, part: Path) -> str:
        asker = Asker(folder, part, model)
        kept = questions.kept(out / f"{model.name}.jsonl")
        fresh = [answer(asker, question, kept) for question in questions.of(model)]
        return f"{sum(fresh)} of {len(fresh)} questions asked"

    ranks.patch()
    sweep(folder, out, names, ask)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
