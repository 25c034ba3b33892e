"""The logs, what the planner answers to each, and which of them may be judged."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.cli.size_lines import answer_of, request_of
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
_LEAST_SHARE = 0.98
_NOT_CUDA = ("ascend", "tpu", "intel", "amd", "mi300")


@dataclass(frozen=True)
class Scored:
    """One log with the planner's answer."""

    log: dict[str, Any]
    answer: dict[str, Any]
    family: str
    band: str
    group: str
    """``logs`` or ``h200``."""

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
        return any(word in gpu for word in _NOT_CUDA) or "fork" in engine or "ascend" in engine

    @property
    def disturbed(self) -> bool:
        """Another engine was starting on the card at the same time: its memory is counted as this one's."""
        return "together" in str(self.log.get("id"))

    @property
    def inconsistent(self) -> bool:
        """The log's own figures do not add up: weights, peak and pool exceed total x utilization by more than 1 GiB, or the weights are
        less than the model's parameters at the parallel sizes that are told (in one stage: another stage may be smaller)."""
        log = self.log
        weights, parameters = log.get("weights_gib"), self.answer.get("weights_gib")
        if weights and parameters and self.named and (log.get("pp") or 1) == 1 and weights < _LEAST_SHARE * parameters["low"]:
            return True
        parts = [
            log.get(name) for name in ("weights_gib", "activation_peak_gib", "kv_available_gib", "gpu_total_gib", "gpu_memory_utilization")
        ]
        if any(part is None for part in parts):
            return False
        loaded, peak, pool, total, share = (float(part or 0) for part in parts)
        return loaded + peak + pool > total * share + 1.0

    @property
    def unified(self) -> bool:
        """CPU and GPU share the memory: other programs count."""
        return "gb10" in str(self.log.get("gpu") or "").lower()

    @property
    def states_the_basics(self) -> bool:
        """Model, GPU and utilization are stated."""
        return self.named and bool(self.log.get("model")) and self._gpu_known and self.log.get("gpu_memory_utilization") is not None

    @property
    def _gpu_known(self) -> bool:
        return bool(self.log.get("gpu_total_gib")) or self.answer.get("kv_available_gib") is not None

    @property
    def fully_stated(self) -> bool:
        """Model, GPU, TP, utilization, length and version are stated, on NVIDIA and on plain vLLM."""
        stated = all(self.log.get(name) is not None for name in ("tp", "gpu_memory_utilization", "max_model_len", "vllm_version"))
        return stated and self.states_the_basics and not self.foreign and not self.disturbed


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


def scored(*, logs: Path = LOGS, runs: Path = RUNS) -> Iterator[Scored]:
    """All logs with their answers."""
    for group, path in (("logs", logs), ("h200", runs)):
        for line in path.read_text("utf-8").splitlines():
            log = json.loads(line)
            if group == "h200":
                log |= {name: value for name, value in MEASURED_WITH.items() if log.get(name) is None}
            case = inputs_of(log)
            request, _ = request_of(case)
            facts = resolve(request).facts if request else None
            yield Scored(log, answer_of(case), facts.group if facts else "unknown", band_of(log), group)
