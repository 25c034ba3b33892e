"""The supervisor around an engine: whether it runs, and how long an engine may be silent."""

from interlock.infra.catalog.versions import first, since
from interlock.infra.config.ray import Serve
from interlock.infra.config.runtime import needs_supervisor
from interlock.infra.config.servers import ServerConfig
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.plan.derive.engine import Engine, version_of
from interlock.infra.plan.models import ModelShape
from interlock.infra.plan.reasons import SET, Reason
from interlock.infra.plan.types import TimeBudget
from interlock.infra.sizing.step import UNSHAPED, longest_step
from interlock.infra.values import Version

WAITS = "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"
"""Variable: seconds that an engine of several ranks waits for one step."""
_TOKENS = 16_384
"""Tokens of a step where nothing states them: the most that vLLM chooses by itself."""


def decide_runtime(server: ServerConfig, place: str, why: dict[str, Reason]) -> bool:
    """Whether the engine runs under the supervisor: where nobody switched it off, and its vLLM can load the heartbeat.

    ``place``: the server's path in the config. Raises ConfigError where the config asks an older vLLM for what only a supervised pod does.
    """
    if server.serve is Serve.RAY:
        why["runtime"] = Reason(value="bare", reason="Ray Serve starts the engine, and watches and drains it (health, drain)")
        return False
    if not server.runtime.supervised:
        why["runtime"] = Reason(value="bare", reason=SET)
        return False
    version = Version.parse(version_of(server))
    if version is not None and not since("stat_logger_plugins", version):
        told = f"vLLM {version} has no plug-ins for statistics, by which a hang is seen; they came in {first('stat_logger_plugins')}"
        asked = server.runtime.asked()
        if asked:
            newer = f"use an image with vLLM {first('stat_logger_plugins')} or later"
            raise ConfigError([Problem(f"{place}.runtime", f"{needs_supervisor(asked, newer)}: {told}")])
        why["runtime"] = Reason(value="bare", reason=told)
        return False
    why["runtime"] = Reason(value="supervised", reason="a drain that loses nothing, and a probe that sees a hang (runtime.supervised)")
    return True


def predicted_step(made: Engine, shape: ModelShape, offloaded: int) -> float | None:
    """The longest step of a planned engine in seconds; None for a model whose shapes are not known."""
    engine = made.args
    if not (shape.weight_bytes and shape.width):
        return None
    return longest_step(
        weights=shape.weight_bytes,
        width=shape.width,
        tokens=engine.max_num_batched_tokens or _TOKENS,
        context=engine.length or shape.max_position or 0,
        ranks=engine.gpus,
        offloaded=offloaded,
    )


def step_seconds(server: ServerConfig, predicted: float | None) -> tuple[float, str]:
    """(seconds that one step may take, why): the prediction, or what the engine itself is told to wait for a step, if that is longer."""
    step, why = (UNSHAPED, "an allowance, as the model's shapes are not known") if predicted is None else (predicted, "on any card")
    stated = server.extra.env.get(WAITS, "").strip()
    told = int(stated) if stated.isascii() and stated.isdigit() else 0
    return (float(told), f"{WAITS} in extra.env") if told > step else (step, why)


def decide_hang(server: ServerConfig, times: TimeBudget, bound: str, why: dict[str, Reason]) -> None:
    """Why a silence is taken for a hang; ``bound``: whence the longest step is known."""
    if server.runtime.hang_seconds is None:
        told = f"the longest step takes at most {times.step:.0f} s ({bound}), rounded up the ladder of silences"
        why["hang"] = Reason(value=f"{times.hang} s", reason=told)
