"""LoRA adapters: what they add to the engine's arguments, and how many of them one batch may mix."""

import shlex
from collections.abc import Iterator
from typing import Any

from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.engine.arguments import read_line
from interlock.infra.plan.derive.case import Case, Choice, tried
from interlock.infra.plan.reasons import Reason
from interlock.infra.sizing.result import Verdict
from interlock.infra.values import plural

_MOST = 8
"""Slots that are planned unasked: each takes memory of its own on every card, used or not."""


def adapted(server: ServerConfig, why: dict[str, Reason]) -> ServerConfig:
    """The server with the engine's arguments that its adapters ask for, as if a person had stated them: memory is planned for them."""
    wanted = server.adapters
    if wanted is None:
        return server
    named = plural(len(wanted.modules), "adapter")
    held = wanted.slots or max(len(wanted.modules), 1)
    told = f"adapters: {named}" + (", loaded while the engine runs" if wanted.hot else "")
    made: dict[str, Any] = {"enable_lora": True, "max_lora_rank": wanted.rank}
    if not wanted.hot:
        made["lora_modules"] = [f"{each.name}={each.path}" for each in wanted.modules]
    if held > _MOST:
        made["max_cpu_loras"] = held
    if held > 1:
        made["max_loras"] = min(held, _MOST)
    for name, value in made.items():
        why[name] = Reason(value=", ".join(value) if isinstance(value, list) else str(value), reason=told)
    return server.model_copy(update={"engine": EngineArgs.model_validate({**server.engine.stated(), **made})})


def slots(case: Case) -> Iterator[Choice]:
    """``max_loras``: as many as there are adapters, as far as they fit (vLLM: lora/model_manager.py, one slot for each in the batch)."""
    adapters = _adapters(case)
    if not case.engine.enable_lora or case.simulated or adapters < 2 or not case.takes("max_loras"):
        return
    wanted = min(adapters, _MOST)
    usual = tried(case, max_loras=1).verdict
    count = next((each for each in range(wanted, 1, -1) if tried(case, max_loras=each).verdict in (Verdict.FITS, usual)), 1)
    named = f"{plural(adapters, 'adapter')} in lora_modules"
    told = (
        named if count == adapters else f"{named}, at most {_MOST} slots unasked" if count == _MOST else f"{named}; more do not surely fit"
    )
    yield Choice("max_loras", count, told, "the engine's own 1: requests for different adapters run one after another")


def _adapters(case: Case) -> int:
    """Adapters that are named at start, in the config or among the extra arguments."""
    stated = case.engine.stated().get("lora_modules")
    if stated is None and "lora_modules" in case.given:
        line = read_line(("model", *case.server.extra.args))
        stated = next((flag.value for flag in line.flags if flag.name == "lora-modules"), None)
    if isinstance(stated, str):
        return len(shlex.split(stated)) if "{" not in stated else 0
    return len(stated) if isinstance(stated, list | tuple) else 0
