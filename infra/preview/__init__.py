"""config -> decide -> build -> recognise -> judge -> tell: the one entry for program, command and tests."""

from interlock.infra.preview.preview import judged, preview

__all__ = ["judged", "preview"]
