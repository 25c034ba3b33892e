"""Reports of a check, one function per format; a format's module is imported when a report of it is made."""

from collections.abc import Mapping
from importlib import import_module

from interlock.cli.report.model import NOT_JUDGED, UNREAD, Located, Result, worst_first

FORMATS: Mapping[str, tuple[str, str]] = {
    "text": ("plain", "text"),
    "json": ("plain", "as_json"),
    "jsonl": ("plain", "jsonl"),
    "sarif": ("sarif", "sarif"),
    "github": ("reviews", "github"),
    "markdown": ("reviews", "markdown"),
    "junit": ("reviews", "junit"),
}
"""Module and function by format."""


def report(result: Result, form: str) -> str:
    """The report of a check in a form of ``FORMATS``."""
    module, function = FORMATS[form]
    written: str = getattr(import_module(f"{__name__}.{module}"), function)(result)
    return written


__all__ = ["FORMATS", "NOT_JUDGED", "UNREAD", "Located", "Result", "report", "worst_first"]
