"""Serves one command line after another with the real vLLM, asks each server one thing, and says how long it took.

Runs on the engine environment's Python, and imports nothing of this project. The engine's modules are imported once: each server is
forked from there, runs the command ``vllm serve``, and forks its engine core, which on a processor it would start anew.

usage: worker.py JOBS.json, a list of {"argv", "port", "route", "body", "log": file, "told": file}
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


def serve(argv: list[str], log: Path) -> None:
    """In the child: the engine's own command, with its output in a file."""
    os.setsid()
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


def ready(child: int, port: int) -> float | None:
    """Seconds until the server answers; None when it ended or took too long."""
    started = time.monotonic()
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


def start(job: dict[str, Any]) -> dict[str, Any]:
    """One server from its start to its end."""
    child = os.fork()
    if child == 0:
        try:
            serve(job["argv"], Path(job["log"]))
        except BaseException:  # a forked copy must not go on with its parent's work
            traceback.print_exc()
        finally:
            os._exit(1)
    seconds = ready(child, job["port"])
    status, text = asked(job["port"], job["route"], job["body"]) if seconds is not None else (0, "")
    end(child)
    return {"seconds": seconds, "status": status, "text": text, "log": Path(job["log"]).read_text(errors="replace")[-3000:]}


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
