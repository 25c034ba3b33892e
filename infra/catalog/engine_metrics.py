"""What vLLM's series mean: for each question the name that a version and a backend export, so that no query of ours names another."""

from collections.abc import Mapping
from enum import StrEnum

from interlock.infra.catalog.vllm_flags import metric_status
from interlock.infra.catalog.vllm_tables import Standing, vllm_names


class Signal(StrEnum):
    """A question about an engine that its /metrics page answers."""

    WAITING = "waiting"
    """Requests in the queue."""
    RUNNING = "running"
    """Requests in the batch."""
    KV_USAGE = "kv_usage"
    """Used part of the KV cache, 0 to 1."""
    PROMPT_TOKENS = "prompt_tokens"
    """Tokens of prompts (counter)."""
    ANSWER_TOKENS = "answer_tokens"
    """Tokens that were written (counter)."""
    FIRST_TOKEN = "first_token"
    """Seconds to the first token (histogram)."""
    BETWEEN_TOKENS = "between_tokens"
    """Seconds between two tokens (histogram)."""


_NAMES: Mapping[Signal, tuple[str, ...]] = {
    Signal.WAITING: ("vllm:num_requests_waiting",),
    Signal.RUNNING: ("vllm:num_requests_running",),
    Signal.KV_USAGE: ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    Signal.PROMPT_TOKENS: ("vllm:prompt_tokens",),
    Signal.ANSWER_TOKENS: ("vllm:generation_tokens",),
    Signal.FIRST_TOKEN: ("vllm:time_to_first_token_seconds",),
    Signal.BETWEEN_TOKENS: ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
}
"""The newest name first; which version has which says the table that was read from the wheels."""


def series(signal: Signal, version: str | None, *, ray: bool = False) -> str | None:
    """The name in ``version`` (None or empty: the newest that was read), as it stands on the engine's page without a sample's suffix;
    None where no version around it exports any. ``ray``: as Ray exports it, where the engine runs under Ray Serve."""
    of = version or vllm_names("metrics").versions[-1]
    standings = {name: metric_status(name, of).standing for name in _NAMES[signal]}
    likely = [name for standing in (Standing.EXISTS, Standing.UNSURE) for name, found in standings.items() if found is standing]
    found = next(iter(likely), None)
    return f"ray_{found.replace(':', '_')}" if found and ray else found


def names(signal: Signal) -> tuple[str, ...]:
    """Every name that any version gives the answer, the newest first."""
    return _NAMES[signal]


def exported(name: str) -> str:
    """The name by which an adapter hands a series to autoscalers: those of the Kubernetes API know no colon."""
    return name.replace(":", "_")
