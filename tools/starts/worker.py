"""Serves one command line after another with the real vLLM, asks each server one thing, and says how long it took.

Runs on the engine environment's Python, and imports nothing of this project. The engine's modules are imported once: each server is
forked from there, runs the command ``vllm serve``, and forks its engine core, which on a processor it would start anew.

usage: worker.py JOBS.json, a list of {"argv", "port", "route", "body", "log": file, "told": file}. A job may have an "environment", and
another one as "first": both are then up at the same time, the first is asked before, and what it hands over goes on with the request, as a
router in front of a prefill/decode pair does it.
"""

import contextlib
import http.client
import importlib
import json
import multiprocessing
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

PATIENCE, GRACE = 240.0, 30.0
MODULES = ("vllm.entrypoints.cli.main", "vllm.entrypoints.cli.serve", "vllm.v1.engine.async_llm", "vllm.v1.engine.core",
           "vllm.v1.worker.cpu_worker", "vllm.v1.worker.cpu_model_runner", "vllm.v1.executor.uniproc_executor")  # fmt: skip


def serve(argv: list[str], log: Path, environment: dict[str, str]) -> None:
    """In the child: the engine's own command, with its output in a file."""
    os.setsid()
    os.environ.update(environment)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    sys.argv = ["vllm", "serve", *argv]
    importlib.import_module("vllm.entrypoints.cli.main").main()


def asked(port: int, route: str, body: Any = None) -> tuple[int, str]:
    """Status and text of an answer; 0 when nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        content = json.dumps(body) if body else None
        connection.request("POST" if body else "GET", route, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace")
    except OSError:
        return 0, ""
    finally:
        connection.close()


def ready(child: int, port: int, started: float) -> float | None:
    """Seconds from ``started`` until the server answers; None when it ended or took too long."""
    while time.monotonic() - started < PATIENCE:
        if os.waitpid(child, os.WNOHANG)[0]:
            return None
        if asked(port, "/health")[0] == 200:
            return time.monotonic() - started
        time.sleep(0.1)
    return None


def end(child: int) -> None:
    """Ends a server and its engine core; one that does not go is killed."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.killpg(child, signal.SIGTERM)
        until = time.monotonic() + GRACE
        while time.monotonic() < until and not os.waitpid(child, os.WNOHANG)[0]:
            time.sleep(0.1)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def forked(job: dict[str, Any]) -> int:
    """The process of a server that was begun."""
    child = os.fork()
    if child == 0:
        try:
            serve(job["argv"], Path(job["log"]), job.get("environment", {}))
        except BaseException:  # a forked copy must not go on with its parent's work
            traceback.print_exc()
        finally:
            os._exit(1)
    return child


def start(job: dict[str, Any]) -> dict[str, Any]:
    """One server, or a pair, from its start to its end."""
    first = job.get("first")
    sides = [first, job] if first else [job]
    children, started = [forked(side) for side in sides], time.monotonic()
    seconds = [ready(child, side["port"], started) for child, side in zip(children, sides, strict=True)]
    told = {"seconds": seconds[-1], "status": 0, "text": ""}
    if None not in seconds:
        told |= pair(first, job, seconds[0]) if first else answered(job, job["body"])
    for child in children:
        end(child)
    logs = (Path(side["log"]).read_text(errors="replace")[-3000:] for side in sides)
    return {**told, "log": "\n".join(logs)}


def answered(job: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Status and text of the answer to a job's request."""
    status, text = asked(job["port"], job["route"], body)
    return {"status": status, "text": text}


def pair(first: dict[str, Any], job: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    """The request split over both sides, the same one answered whole by the first, and what the second says of the hand-over."""
    read = answered(first, first["body"])
    if read["status"] != 200:
        return read
    handed = json.loads(read["text"])["kv_transfer_params"]
    told = answered(job, {**job["body"], "kv_transfer_params": handed})
    whole = answered(first, job["body"])
    metrics = [line for line in asked(job["port"], "/metrics")[1].splitlines() if line.startswith("vllm:nixl")]
    return {**told, "whole": whole["text"], "handed": handed, "metrics": metrics, "first_seconds": seconds}


def main(jobs: list[dict[str, Any]]) -> None:
    """Writes what came of each job beside it."""
    began = time.monotonic()
    processes: Any = importlib.import_module("vllm.utils.system_utils")
    processes.get_mp_context = lambda: multiprocessing.get_context("fork")
    for name in MODULES:
        importlib.import_module(name)
    imports = time.monotonic() - began
    for job in jobs:
        Path(job["told"]).write_text(json.dumps({"imports": imports, **start(job)}))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
