"""The supervisor around an engine: whether it runs, and how long an engine may be silent."""

from interlock.infra.catalog.versions import first, since
from interlock.infra.config.servers import ServerConfig
from interlock.infra.plan.derive.engine import Engine, version_of
from interlock.infra.plan.models import ModelShape
from interlock.infra.plan.reasons import SET, Reason
from interlock.infra.plan.types import TimeBudget
from interlock.infra.sizing.step import UNKNOWN, longest_step
from interlock.infra.values import Version

MIDDLEWARE = "interlock.runtime.front.Front"
"""Class that counts and refuses requests inside the engine's API server."""
_TOKENS = 16_384
"""Tokens of a step where nothing states them: the most that vLLM chooses by itself."""


def decide_runtime(server: ServerConfig, why: dict[str, Reason]) -> bool:
    """Whether the engine runs under the supervisor: where nobody switched it off, and its vLLM can load the heartbeat."""
    if not server.runtime.supervised:
        why["runtime"] = Reason(value="bare", reason=SET)
        return False
    version = Version.parse(version_of(server))
    if version is not None and not since("stat_logger_plugins", version):
        told = f"vLLM {version} has no plug-ins for statistics, by which a hang is seen; they came in {first('stat_logger_plugins')}"
        why["runtime"] = Reason(value="bare", reason=told)
        return False
    why["runtime"] = Reason(value="supervised", reason="a drain that loses nothing, and a probe that sees a hang (runtime.supervised)")
    return True


def step_seconds(made: Engine, shape: ModelShape, offloaded: int) -> float:
    """The longest step of a planned engine in seconds."""
    engine = made.args
    if not (shape.weight_bytes and shape.width):
        return UNKNOWN
    return longest_step(
        weights=shape.weight_bytes,
        width=shape.width,
        tokens=engine.max_num_batched_tokens or _TOKENS,
        context=engine.max_model_len or shape.max_position or 0,
        ranks=engine.gpus,
        offloaded=offloaded,
    )


def decide_hang(server: ServerConfig, times: TimeBudget, step: float, why: dict[str, Reason]) -> None:
    """Why a silence is taken for a hang."""
    if server.runtime.hang_seconds is None:
        bound = "vLLM's own limit of a step, as the model's shapes are not known" if step == UNKNOWN else "on any card"
        told = f"the longest step takes at most {step:.0f} s ({bound}), rounded up the ladder of silences"
        why["hang"] = Reason(value=f"{times.hang} s", reason=told)
