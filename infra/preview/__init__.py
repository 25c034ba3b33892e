"""config -> decide -> build -> recognise -> judge -> tell: the one entry for program, command and tests."""

from interlock.infra.preview.preview import preview

__all__ = ["preview"]
