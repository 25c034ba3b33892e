"""How the workers of pytest-xdist share the tests, and how long each tier took."""

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import pytest

SHARED = ("tests/cluster/prod", "tests/cluster", "tests/engine", "tests/gpu")
"""Folders whose tests share something (a control plane, a node, a card): one worker runs them in turn. The first that fits counts."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A whole folder of ``SHARED`` goes to one worker, any other test goes with its file; the largest first."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByTier(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((folder for folder in SHARED if file.startswith(f"{folder}/")), file)

    return ByTier(config, log)


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
