"""Says at the end of a run how long each tier took."""

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any


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
