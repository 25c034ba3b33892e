"""How the workers of pytest-xdist share the tests, what the programs that tests start keep, and how long each tier took."""

import os
import sys
from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import pytest

# Tests start some hundred Python programs; one that may not keep its bytecode compiles for two seconds each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

SHARED = ("tests/cluster/prod", "tests/cluster", "tests/engine", "tests/gpu")
"""Folders whose tests share something (a control plane, a node, a card): one worker runs them in turn. The first that fits counts."""
LONG_FIRST = (*SHARED, "tests/property")
"""What takes longest starts first, so that the workers end together."""


def _first(nodeid: str, folders: tuple[str, ...]) -> int:
    """The place of the first of ``folders`` that holds a test; their number when none does."""
    return next((place for place, folder in enumerate(folders) if nodeid.startswith(f"{folder}/")), len(folders))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A whole folder of ``SHARED`` goes to one worker, any other test goes with its file; in the order of the collection.

    The test during which a worker ended is told once: left as it is, xdist would give it to the next worker, and so on until all ended.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByTier(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return (*SHARED, nodeid.partition("::")[0])[_first(nodeid, SHARED)]

        def remove_node(self, node: Any) -> str | None:
            units = self.assigned_work[node].values()
            ended = next(((unit, test) for unit in units for test, done in unit.items() if not done), None)
            if ended:
                unit, test = ended
                unit[test] = True
            super().remove_node(node)
            return ended[1] if ended else None

    config.option.loadscopereorder = False
    return ByTier(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the tests by ``LONG_FIRST``, which keeps their order in each folder."""
    items.sort(key=lambda item: _first(item.nodeid, LONG_FIRST))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line: seconds of all phases of all tests, by the folder under tests/."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            parts = PurePosixPath(getattr(report, "nodeid", "").partition("::")[0]).parts
            if len(parts) > 1 and parts[0] == "tests":
                seconds[parts[1]] += getattr(report, "duration", 0.0)
    if seconds:
        terminalreporter.write_line("seconds by tier: " + ", ".join(f"{tier} {spent:.0f}" for tier, spent in sorted(seconds.items())))
