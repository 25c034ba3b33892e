"""The plan as one page for a browser: no script, no file beside it, nothing from the network."""

from interlock.cli.page.document import page

__all__ = ["page"]
