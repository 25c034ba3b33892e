"""config -> decide -> build -> recognise -> judge -> tell: the one entry for program, command and tests."""

from interlock.infra.preview.preview import Previewed, judged, preview, previewed

__all__ = ["Previewed", "judged", "preview", "previewed"]
