"""Reports of a check, one function per format."""

from collections.abc import Callable, Mapping

from interlock.cli.report.model import NOT_JUDGED, Located, Result
from interlock.cli.report.plain import as_json, jsonl, text
from interlock.cli.report.reviews import github, junit, markdown
from interlock.cli.report.sarif import sarif

FORMATS: Mapping[str, Callable[[Result], str]] = {
    "text": text,
    "json": as_json,
    "jsonl": jsonl,
    "sarif": sarif,
    "github": github,
    "markdown": markdown,
    "junit": junit,
}

__all__ = ["FORMATS", "NOT_JUDGED", "Located", "Result"]
