"""Series for Prometheus, on the registry that vLLM answers /metrics from (also that of several API servers)."""

from functools import cache
from typing import Any

from interlock.runtime.gate.usage import Usage

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Counters:
    """Per tenant and model; requests by status too."""

    def __init__(self, prometheus: Any, registry: Any = None) -> None:
        labels, more = ("tenant", "model"), {"registry": registry} if registry is not None else {}
        self.requests = prometheus.Counter("interlock_requests", "Requests that ended.", (*labels, "status"), **more)
        self.prompt = prometheus.Counter("interlock_prompt_tokens", "Tokens of prompts.", labels, **more)
        self.completion = prometheus.Counter("interlock_completion_tokens", "Tokens that were written.", labels, **more)
        self.first = prometheus.Histogram(
            "interlock_time_to_first_byte_seconds", "Until the first byte of the answer.", labels, buckets=SECONDS, **more
        )
        self.queue = prometheus.Histogram("interlock_queue_seconds", "In the engine's queue.", labels, buckets=SECONDS, **more)
        self.known: dict[tuple[str, str], tuple[Any, ...]] = {}
        self.statuses: dict[tuple[str, str, int], Any] = {}

    def note(self, place: tuple[str, str], status: int, used: Usage, first: float, queued: float) -> None:
        """One request of (tenant, model). Negative seconds are not known."""
        found = self.known.get(place)
        if found is None:
            found = self.known[place] = tuple(each.labels(*place) for each in (self.prompt, self.completion, self.first, self.queue))
        of_status = self.statuses.get((*place, status))
        if of_status is None:
            of_status = self.statuses[(*place, status)] = self.requests.labels(*place, str(status))
        of_status.inc()
        found[0].inc(used.prompt)
        found[1].inc(used.completion)
        if first >= 0:
            found[2].observe(first)
        if queued >= 0:
            found[3].observe(queued)


@cache
def counters() -> Counters | None:
    """Those of this process; None where no Prometheus client is installed (the image has one)."""
    try:
        import prometheus_client  # noqa: PLC0415 - the image's
    except ImportError:
        return None
    return Counters(prometheus_client)
