"""The logs, what the planner answers to each, and which of them may be judged."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.cli.size_lines import answer_of, request_of
from interlock.infra.catalog.overheads import Overheads
from interlock.infra.sizing.settings import resolve
from interlock.infra.values import Version
from tools.common import ROOT

LOGS, RUNS = ROOT / "tests/data/calibration.jsonl", ROOT / "tests/data/h200_runs.jsonl"
# What a log says about the outcome is not told to the planner.
INPUTS = (
    *("id", "model", "gpu", "gpu_total_gib", "n_gpus", "tp", "pp", "dp", "ep", "dcp", "dtype", "quantization", "kv_cache_dtype"),
    *("gpu_memory_utilization", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "enforce_eager", "block_size"),
    *("vllm_version", "engine", "spec_decode"),
)
BANDS = (
    ("V0", Version(0, 0)),
    ("0.8-0.15", Version(0, 8)),
    ("0.16-0.19", Version(0, 16)),
    ("0.20-0.26", Version(0, 20)),
    ("0.27 and later", Version(0, 27)),
)
# What every run on the H200 was started with; the records of runs that failed leave it out.
MEASURED_WITH = {"gpu_memory_utilization": 0.9, "max_num_seqs": 256, "max_num_batched_tokens": 8192, "enforce_eager": True}
_NOT_CUDA = ("ascend", "tpu", "intel", "amd", "mi300")
_FORKS = ("fork", "ascend", "windows build")
# What a record says of a card, a count or a utilization that its source does not state.
_DOUBTED_CARD = re.compile(r"verify|inferred")
_DOUBTED = re.compile(r"util (is the default|printed)|util not stated|GPU/util not in|n_gpus .*verify")
# GiB by which the figures of one log may miss each other through rounding.
_ROUNDING_GIB = 1.0


@dataclass(frozen=True, kw_only=True)
class Record:
    """One log as it was written down. Everything here is said by the record alone: no log is chosen by what the planner answers to it."""

    log: dict[str, Any]
    group: str
    """``logs`` or ``h200``."""

    def number(self, name: str) -> float | None:
        """A figure of the log; None where it is not stated."""
        found = self.log.get(name)
        return None if found is None else float(found)

    @property
    def ran(self) -> bool | None:
        """Whether the engine started; None when the log does not say clearly, or when something beside the question decided it."""
        if self.log.get("exclude"):
            return None
        outcome = str(self.log.get("outcome") or "").lower()
        if outcome.startswith("ok"):
            return True
        return False if outcome.startswith(("fail", "oom")) else None

    @property
    def named(self) -> bool:
        """The source names the model (otherwise it was guessed from bytes per token)."""
        return bool((self.log.get("derived") or {}).get("model_identity", "stated") == "stated")

    @property
    def foreign(self) -> bool:
        """Not NVIDIA, or a fork of vLLM."""
        gpu, engine = str(self.log.get("gpu") or "").lower(), str(self.log.get("engine") or "")
        return any(word in gpu for word in _NOT_CUDA) or any(word in f"{engine} {gpu}" for word in _FORKS)

    @property
    def doubted(self) -> bool:
        """The record itself says that the card, the number of cards or the utilization is inferred, not stated."""
        return bool(_DOUBTED_CARD.search(str(self.log.get("gpu"))) or _DOUBTED.search(str(self.log.get("notes"))))

    @property
    def disturbed(self) -> bool:
        """Another engine was starting on the card at the same time: its memory is counted as this one's."""
        return "together" in str(self.log.get("id"))

    @property
    def contradicts_itself(self) -> bool:
        """Weights, peak and pool of the log together exceed its total x utilization."""
        names = ("weights_gib", "activation_peak_gib", "kv_available_gib", "gpu_total_gib", "gpu_memory_utilization")
        parts = [self.number(name) for name in names]
        if any(part is None for part in parts):
            return False
        loaded, peak, pool, total, share = (part or 0.0 for part in parts)
        return loaded + peak + pool > total * share + _ROUNDING_GIB

    @property
    def weights_are_consumed(self) -> bool:
        """The log's weights are what newer versions call consumed memory: weights and what lies outside PyTorch together."""
        return "consumed" in str(self.log.get("notes"))

    @property
    def unified(self) -> bool:
        """CPU and GPU share the memory: other programs count."""
        return "gb10" in str(self.log.get("gpu") or "").lower()

    @property
    def states_the_basics(self) -> bool:
        """Model, GPU and utilization are stated."""
        card = self.log.get("gpu_total_gib") or self.log.get("gpu")
        share = self.log.get("gpu_memory_utilization")
        return self.named and not self.disturbed and bool(self.log.get("model")) and bool(card) and share is not None

    @property
    def fully_stated(self) -> bool:
        """Model, GPU, TP, utilization, length and version are stated, on NVIDIA and on plain vLLM."""
        stated = all(self.log.get(name) is not None for name in ("tp", "gpu_memory_utilization", "max_model_len", "vllm_version"))
        return stated and self.states_the_basics and not self.foreign and not self.disturbed

    @property
    def band(self) -> str:
        """Version band."""
        return band_of(self.log)

    @property
    def thread(self) -> str:
        """What was published together: one issue, pull request or page. A page that is not named counts by its card, version and model."""
        source = str(self.log.get("source") or self.log["id"])
        if re.search(r"a public GitHub file|quoted in", source):
            return f"{self.log.get('gpu')} {self.log.get('vllm_version')} {self.log.get('model')}".lower()
        return re.split(r" accuracy/results| docs/| @| \(|;", source)[0].strip().lower()


@dataclass(frozen=True, kw_only=True)
class Scored(Record):
    """One log with the planner's answer."""

    answer: dict[str, Any]
    family: str


def band_of(log: dict[str, Any]) -> str:
    """Version band of a log."""
    if str(log.get("engine") or "").startswith("V0"):
        return "V0"
    version = Version.find(str(log.get("vllm_version") or ""))
    if version is None:
        return "not stated"
    return [name for name, since in BANDS if version.release >= since][-1]


def inputs_of(log: dict[str, Any]) -> dict[str, Any]:
    """What the planner is told about a log. A card that was shared is told by its free memory."""
    case = {name: log.get(name) for name in INPUTS}
    if log.get("beside"):
        case["free_at_start_gib"] = log.get("free_at_start_gib")
    case["block_size"] = None if re.search("hybrid", str(log.get("notes") or "")) else case["block_size"]
    return case


def records(*, logs: Path = LOGS, runs: Path = RUNS) -> Iterator[Record]:
    """All logs."""
    for group, path in (("logs", logs), ("h200", runs)):
        for line in path.read_text("utf-8").splitlines():
            log = json.loads(line)
            if group == "h200":
                log |= {name: value for name, value in MEASURED_WITH.items() if log.get(name) is None}
            yield Record(log=log, group=group)


def scored(found: Iterable[Record] | None = None, overheads: Overheads | None = None) -> Iterator[Scored]:
    """Logs (all of them unless some are given) with their answers. ``overheads``: fitted figures in place of the catalog's."""
    for record in records() if found is None else found:
        case = inputs_of(record.log)
        facts = resolve(request_of(case)[0]).facts
        yield Scored(log=record.log, group=record.group, answer=answer_of(case, overheads), family=facts.group if facts else "unknown")
