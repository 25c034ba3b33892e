"""``interlock check``: the rules over any YAML, for reviews of pull requests."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from interlock.cli.check.config import in_production, read_config
from interlock.cli.check.run import apply_baseline, check_reading, write_baseline
from interlock.cli.reading import read_paths
from interlock.cli.report import FORMATS, report
from interlock.infra.errors import REFUSED, ConfigError, Problem
from interlock.infra.rules.findings import Severity, Waiver
from interlock.infra.rules.settings import waiver_problems

LEVELS = (*(each.value for each in Severity), "never")


def arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="files, directories, or - for standard input")
    add("--format", default="text", choices=tuple(FORMATS), help="how findings are written (default: text)")
    add("--jsonl", action="store_const", dest="format", const="jsonl", help="the same as --format jsonl")
    add("--min-severity", choices=LEVELS[:-1], help="leave less severe findings out; info shows each of them (default: three per file)")
    add("--strict", action="store_true", help="what production does not accept is an error: an image whose tag moves")
    add("--fail-on", choices=LEVELS, help="lowest severity that ends with 1 (default: error)")
    add("--waive", action="append", default=[], metavar="CODE:PATH:REASON", help="* in the path matches anything; may be repeated")
    add("--config", type=Path, metavar="FILE", help="settings file (default: the nearest .interlock.yaml)")
    add("--baseline", type=Path, metavar="FILE", help="findings in this file are accepted")
    add("--write-baseline", type=Path, metavar="FILE", help="accept all findings of now and write them there")
    add("--output", "-o", type=Path, metavar="FILE", help="write the report there instead of to standard output")


def run(options: Namespace) -> int:
    """Find what breaks LLM serving in Kubernetes YAML, Helm or kustomize output, or a Pulumi preview. Ends with 0 when nothing reaches
    --fail-on, with 1 when something does, with 2 when it could not run."""
    settings = read_config(options.config)
    settings = in_production(settings) if options.strict or settings.strict else settings
    result = check_reading(read_paths(options.paths, settings.exclude), settings, read_waivers(options.waive))
    if options.baseline:
        result = apply_baseline(result, options.baseline)
    if options.write_baseline:
        count = write_baseline(result, options.write_baseline)
        print(f"{count} findings written to {options.write_baseline}", file=sys.stderr)
        return 0
    shown = result.at_least(Severity(options.min_severity)) if options.min_severity else result
    _put(report(shown, options.format), options.output)
    level = options.fail_on or settings.fail_on or "error"
    return REFUSED if result.failing(None if level == "never" else Severity(level)) else 0


def _put(report: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(report)
        return
    try:
        output.write_text(report, "utf-8")
    except OSError as error:
        raise ConfigError([Problem("--output", f"cannot be written: {error.strerror}", str(output))]) from None


def read_waivers(texts: list[str]) -> tuple[Waiver, ...]:
    """``CODE:path:reason`` texts as waivers. Raises ConfigError."""
    waivers = []
    for text in texts:
        code, _, rest = text.partition(":")
        path, _, reason = rest.rpartition(":")
        try:
            waivers.append(Waiver(code=code.strip(), path=path.strip() or "*", reason=reason.strip()))
        except ValueError:
            strange = [f"{problem}; " for _, problem in waiver_problems([code.strip()])] if path and reason.strip() else [""]
            said = f"{text!r} is not a waiver: {''.join(strange)}write CODE:path:reason, for example 'GPU-001:*:shared cards on purpose'"
            raise ConfigError([Problem("--waive", said)]) from None
    unknown = [Problem("--waive", problem) for _, problem in waiver_problems(waiver.code for waiver in waivers)]
    if unknown:
        raise ConfigError(unknown)
    return tuple(waivers)
