"""The heartbeat: a statistics logger that vLLM calls after every step of every engine core (entry point ``vllm.stat_logger_plugins``).

The only module of the archive that imports vLLM.
"""

from typing import Any

from vllm.v1.metrics.loggers import AggregateStatLoggerBase

from interlock.runtime import board, page
from interlock.runtime.gate import told


class Beat(AggregateStatLoggerBase):  # type: ignore[misc]
    """Writes when each engine core last reported a step, and how many requests it then held."""

    def __init__(self, vllm_config: Any, engine_indexes: list[int]) -> None:
        self.page = page.mine()
        self.rows = {engine: at for engine in engine_indexes if (at := self.page.row(engine)) >= 0}

    def record(self, scheduler_stats: Any, iteration_stats: Any, mm_cache_stats: Any = None, engine_idx: int = 0) -> None:
        """One step. The counts are missing where several API servers run and another one got them."""
        if told.WAITING and iteration_stats is not None:
            told.note(getattr(iteration_stats, "finished_requests", ()))
        at = self.rows.get(engine_idx)
        if at is None:
            return
        words, now = self.page.words, board.now()
        words[at + 1] = now
        words[at + 2] += 1
        if scheduler_stats is not None:
            skipped = getattr(scheduler_stats, "num_skipped_waiting_reqs", 0)
            words[at + 3] = scheduler_stats.num_running_reqs + scheduler_stats.num_waiting_reqs + skipped
            words[at + 4] = now

    def record_sleep_state(self, is_awake: int, level: int) -> None:
        """vLLM passes 1 for asleep. Requests to a sleeping engine wait for good reason."""
        for at in self.rows.values():
            self.page.words[at + 1] = board.now()
            self.page.words[at + 5] = is_awake

    def log_engine_initialized(self) -> None:
        """The engine cores are ready: from here on silence counts."""
        for at in self.rows.values():
            self.page.words[at + 1] = board.now()
