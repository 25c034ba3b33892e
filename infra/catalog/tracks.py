"""Proven tracks: the engine image and version of each."""

from dataclasses import dataclass
from functools import cache

from interlock.infra.catalog.tables import table


@dataclass(frozen=True, slots=True)
class TrackImage:
    """One pinned image."""

    repository: str
    """Repository without tag."""
    tag: str
    """Version tag."""
    digest: str | None
    """``sha256:...``; None = unproven, the plan says so."""
    vllm: str
    """vLLM version inside."""
    cuda: str | None
    """CUDA version that the engine runs on; None = none."""
    command: tuple[str, ...]
    """Command that serves; the arguments follow."""
    env: dict[str, str]
    """Environment that this image needs."""
    source: str
    """Where the facts come from."""
    date: str
    """When they were read."""
    ray: str | None = None
    """Ray version inside; None = none."""

    @property
    def reference(self) -> str:
        """``repository:tag@digest``."""
        return f"{self.repository}:{self.tag}" + (f"@{self.digest}" if self.digest else "")


@cache
def tracks() -> dict[str, TrackImage]:
    """Images by track."""
    return {name: TrackImage(**{**row, "command": tuple(row["command"])}) for name, row in table("tracks.json").items()}
