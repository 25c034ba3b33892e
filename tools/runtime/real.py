"""The same container around the real vLLM on the CPU, with a tiny model."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.runtime.supervise import leftovers
from tools.engine_env import env
from tools.runtime.testing import MIDDLEWARE, Container

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}
SHM = "/dev/shm"
#: Eight tokens per step, so that a long prompt takes more than a hundred.
SMALL_STEPS = ("--max-num-batched-tokens", "8", "--max-num-seqs", "8")


@dataclass
class RealContainer(Container):
    """``arguments``: the engine's, beside those that make it small. ``watched``: with our middleware."""

    arguments: tuple[str, ...] = SMALL_STEPS
    watched: bool = True
    others: tuple[str, ...] = ()
    """Shared memory that was there before."""
    served: str = "tiny"

    def start(self, *command: str) -> "RealContainer":
        self.others = tuple(leftovers.there(SHM))
        super().start(*command)
        return self

    def remove(self) -> None:
        super().remove()
        leftovers.remove(SHM, self.others)

    def serve(self) -> tuple[str, ...]:
        model = env.model(env.folder(), "dense")
        fixed = ("--host", "127.0.0.1", "--served-model-name", self.served, "--dtype", "float32", "--enforce-eager")
        ours = ("--middleware", MIDDLEWARE) if self.watched else ()
        return (
            "vllm",
            "serve",
            str(model),
            "--port",
            str(self.port),
            *fixed,
            "--max-model-len",
            "1024",
            *ours,
            "--shutdown-timeout",
            "20",
            *self.arguments,
        )

    def inside(self) -> dict[str, str]:
        return {**ENVIRONMENT, "PATH": f"{env.folder() / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def core(self) -> int:
        """The pid of the engine core."""
        return next(pid for pid in self.known if "EngineCore" in title(pid))


def title(pid: int) -> str:
    """How a process calls itself; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def container(archive: Path, folder: Path, **spec: Any) -> RealContainer:
    """Not started yet; the supervisor runs on the engine's own Python, as in the image."""
    times = {"vllm": "0.32.0", "drain_seconds": 120, "settle_seconds": 1, "quiet_seconds": 1, "teardown_seconds": 30}
    made = RealContainer(archive, folder, folder, spec={**times, **spec}, patience=300)
    made.python = (str(env.python_of(env.folder())), "-I")
    return made
