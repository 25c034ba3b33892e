"""Findings over files as ``interlock check`` makes them, with the tests' own day."""

from pathlib import Path

from interlock.cli.check.config import CheckConfig
from interlock.cli.check.run import check_reading
from interlock.cli.reading import read_paths
from interlock.infra.rules.findings import Finding
from tests.support import TODAY


def findings_of(*files: Path, settings: CheckConfig | None = None) -> list[Finding]:
    """All findings over some files, in the order of the report."""
    reading = read_paths([str(file) for file in files])
    return [located.finding for located in check_reading(reading, settings or CheckConfig(), today=TODAY).findings]
