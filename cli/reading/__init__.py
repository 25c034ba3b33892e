"""Reading of manifests: files to documents with the place of every field. The only reader of YAML manifests."""

from interlock.cli.reading.marked import load_text
from interlock.cli.reading.read import FileRead, Reading, read_paths

__all__ = ["FileRead", "Reading", "load_text", "read_paths"]
