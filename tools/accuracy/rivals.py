"""What people would use otherwise: rules of thumb and other planners, asked the same cases."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.infra.sizing import model_facts
from tools.accuracy.cases import Scored

Method = Callable[[Scored], bool | None]
"""Answers "fits" or "does not fit" to a case, or None when the method cannot answer it."""
Pool = Callable[[Scored], float | None]
"""GiB that a method leaves to the KV cache, or None."""
HERE = Path(__file__).parent
KEPT = HERE / "rivals.json"


def _weights_gib(case: Scored) -> float | None:
    weights = case.answer.get("weights_gib")
    return float(weights["likely"]) if isinstance(weights, dict) else None


def _budget_gib(case: Scored) -> float | None:
    total = case.log.get("gpu_total_gib")
    return float(total) * float(case.log.get("gpu_memory_utilization") or 0.9) if total else None


def interlock(case: Scored) -> bool | None:
    """Our own verdict; ``unsure`` is no answer."""
    return {"fits": True, "does_not_fit": False}.get(str(case.answer["verdict"]))


def rule(extra_gib: float) -> Method:
    """Weights x 1.2 and a constant, on one GPU."""

    def decide(case: Scored) -> bool | None:
        weights, budget = _weights_gib(case), _budget_gib(case)
        return None if weights is None or budget is None else weights * 1.2 + extra_gib <= budget

    return decide


def weights_and_one_request(case: Scored) -> bool | None:
    """hf-mem's sum: weights from the headers and the KV cache of one request, against the whole card."""
    weights, total, need = _weights_gib(case), case.log.get("gpu_total_gib"), case.answer.get("kv_needed_gib")
    return None if weights is None or not total or need is None else bool(weights + need <= total)


def llmd(overheads: Mapping[str, Any]) -> Method:
    """llm-d-planner's constants for activation, graphs and non-torch, with the same weights and the same request."""

    def decide(case: Scored) -> bool | None:
        weights, budget, need = _weights_gib(case), _budget_gib(case), case.answer.get("kv_needed_gib")
        overhead = overheads.get(str(case.log["id"]))
        if weights is None or budget is None or need is None or not isinstance(overhead, int | float):
            return None
        return bool(weights + float(overhead) + need <= budget)

    return decide


@dataclass(frozen=True, slots=True)
class Rival:
    """One method that is compared."""

    decide: Method
    pool: Pool


def methods() -> dict[str, Rival]:
    """All methods that are compared."""
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {"overheads": {}}
    overheads = kept["overheads"]
    return {
        "Interlock": Rival(interlock, _own_pool),
        "weights x 1.2 + 2 GiB (GPUStack's rule)": Rival(rule(2.0), _rule_pool(2.0)),
        "weights x 1.2 (rule of the vLLM recipes)": Rival(rule(0.0), _rule_pool(0.0)),
        "weights + one request (hf-mem's sum)": Rival(weights_and_one_request, lambda case: None),
        f"llm-d-planner {kept.get('version', '')}'s constants": Rival(llmd(overheads), _llmd_pool(overheads)),
    }


def _own_pool(case: Scored) -> float | None:
    found = case.answer.get("kv_available_gib")
    return float(found["likely"]) if isinstance(found, dict) else None


def _rule_pool(extra_gib: float) -> Pool:
    def left(case: Scored) -> float | None:
        weights, budget = _weights_gib(case), _budget_gib(case)
        return None if weights is None or budget is None else budget - 1.2 * weights - extra_gib

    return left


def _llmd_pool(overheads: Mapping[str, Any]) -> Pool:
    def left(case: Scored) -> float | None:
        weights, budget, overhead = _weights_gib(case), _budget_gib(case), overheads.get(str(case.log["id"]))
        if weights is None or budget is None or not isinstance(overhead, int | float):
            return None
        return budget - weights - float(overhead)

    return left


def tally(cases: Iterable[Scored], method: Method) -> dict[str, int]:
    """Right and wrong answers of a method."""
    counts = {"answered": 0, "right": 0, "said fits, failed": 0, "said no, ran": 0, "no answer": 0}
    for case in cases:
        if case.ran is None:
            continue
        said = method(case)
        if said is None:
            counts["no answer"] += 1
            continue
        counts["answered"] += 1
        counts["right" if said == case.ran else "said fits, failed" if said else "said no, ran"] += 1
    return counts


def pool_errors(cases: Iterable[Scored], pool: Pool) -> list[float]:
    """Relative errors of the KV memory that a method leaves, over the logs that tell it."""
    found = []
    for case in cases:
        truth, left = case.log.get("kv_available_gib"), pool(case)
        if truth and truth > 0 and left is not None:
            found.append(left / float(truth) - 1)
    return found


def ask_again(cases: Iterable[Scored]) -> str:
    """Install llm-d-planner in a throw-away environment and keep its overheads for every case. Returns what came of it."""
    questions = []
    for case in cases:
        facts = model_facts(str(case.log.get("model") or ""))
        if facts is not None:
            questions.append({"id": case.log["id"], "config": facts.config, "tp": case.log.get("tp") or 1, "pp": case.log.get("pp") or 1})
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "env/bin/python"
        for step in ([sys.executable, "-m", "venv", str(python.parents[1])], [str(python), "-m", "pip", "install", "-q", "llm-d-planner"]):
            done = subprocess.run(step, capture_output=True, text=True, timeout=900, check=False)
            if done.returncode:
                return "llm-d-planner does not install: " + (done.stderr.strip().splitlines() or [""])[-1][:200]
        shown = subprocess.run([str(python), "-m", "pip", "show", "llm-d-planner"], capture_output=True, text=True, timeout=60, check=False)
        version = next((line.split()[1] for line in shown.stdout.splitlines() if line.startswith("Version")), "?")
        asked = subprocess.run(
            [str(python), str(HERE / "llmd_probe.py")],
            input=json.dumps(questions),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    if asked.returncode:
        return "llm-d-planner does not run: " + (asked.stderr.strip().splitlines() or [""])[-1][:200]
    KEPT.write_text(json.dumps({"version": version, "overheads": json.loads(asked.stdout)}, indent=1) + "\n", "utf-8")
    return f"llm-d-planner {version} answered {len(questions)} cases"
