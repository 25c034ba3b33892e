"""What laws run under: the same examples on every machine, or new ones (``make laws``), and a bound on memory."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOM = 3 << 30
"""Bytes that one law may add; one that takes more fails alone instead of starving the machine."""

# A change is judged by the change, not by the day's luck: luck has its own command, whose finds become examples.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False)
settings.load_profile("new" if os.environ.get("LAWS") == "new" else "same")


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
