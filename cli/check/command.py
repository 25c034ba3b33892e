"""``interlock check``: the rules over any YAML, for reviews of pull requests."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interlock.infra.errors import REFUSED, ConfigError, InterlockError, Problem

if TYPE_CHECKING:
    from interlock.infra.rules.findings import Waiver


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    GITHUB = "github"
    MARKDOWN = "markdown"
    JUNIT = "junit"


class FailOn(StrEnum):
    """The lowest severity that fails the check."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


Paths = Annotated[list[str], typer.Argument(help="Files, directories, or - for standard input.", show_default=False)]
How = Annotated[Format, typer.Option("--format", help="How findings are written.")]
Lines = Annotated[bool, typer.Option("--jsonl", help="The same as --format jsonl.")]
At = Annotated[FailOn | None, typer.Option("--fail-on", help="Lowest severity that ends with 1 (default: error).")]
Waive = Annotated[list[str] | None, typer.Option("--waive", help="CODE:path:reason; * in the path matches anything. May be repeated.")]
Config = Annotated[Path | None, typer.Option("--config", help="Settings file (default: the nearest .interlock.yaml).")]
Baseline = Annotated[Path | None, typer.Option("--baseline", help="Findings in this file are accepted.")]
Write = Annotated[Path | None, typer.Option("--write-baseline", help="Accept all findings of now and write them there.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the report there instead of to standard output.")]


def check(
    paths: Paths,
    *,
    format_: How = Format.TEXT,
    jsonl: Lines = False,
    fail_on: At = None,
    waive: Waive = None,
    config: Config = None,
    baseline: Baseline = None,
    write: Write = None,
    output: Output = None,
) -> None:
    """Find what breaks LLM serving in Kubernetes YAML, Helm or kustomize output, or a Pulumi preview.

    Ends with 0 when nothing reaches --fail-on, with 1 when something does, with 2 when it could not run.
    """
    from interlock.cli.check import run
    from interlock.cli.reading import read_paths
    from interlock.cli.report import report
    from interlock.infra.rules.findings import Severity

    settings = run.read_config(config)
    result = run.check_reading(read_paths(paths, settings.exclude), settings, read_waivers(waive or []))
    if baseline:
        result = run.apply_baseline(result, baseline)
    if write:
        count = run.write_baseline(result, write)
        print(f"{count} findings written to {write}", file=sys.stderr)
        return
    _put(report(result, "jsonl" if jsonl else format_.value), output)
    level = fail_on.value if fail_on else settings.fail_on or "error"
    if result.failing(None if level == "never" else Severity(level)):
        raise typer.Exit(REFUSED)


def _put(report: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(report)
        return
    try:
        output.write_text(report, "utf-8")
    except OSError as error:
        raise ConfigError([Problem("--output", f"cannot be written: {error.strerror}", str(output))]) from None


def read_waivers(texts: list[str]) -> "tuple[Waiver, ...]":
    """``CODE:path:reason`` texts as waivers. Raises ConfigError."""
    from pydantic import ValidationError

    from interlock.infra.rules.findings import Waiver

    waivers = []
    for text in texts:
        code, _, rest = text.partition(":")
        path, _, reason = rest.rpartition(":")
        try:
            waivers.append(Waiver(code=code.strip(), path=path.strip() or "*", reason=reason.strip()))
        except ValidationError:
            said = f"{text!r} is not a waiver: write CODE:path:reason, for example 'GPU-001:*:shared cards on purpose'"
            raise ConfigError([Problem("--waive", said)]) from None
    return tuple(waivers)


def main() -> None:
    """Runs the command alone: errors meant for users end in one message, never in a traceback."""
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(check)
    try:
        app()
    except InterlockError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
