"""Documents that people write, each with what is right to say of it (tests/data/review/expected.jsonl, with the source of the truth)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.check.config import CheckConfig, read_config
from interlock.cli.stackfile import read_stack
from interlock.infra.errors import InterlockError
from interlock.infra.preview import preview
from interlock.infra.rules.findings import Finding
from tests.support import TODAY
from tests.support.checking import findings_of

FOLDER = Path(__file__).parents[1] / "data" / "review"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in (FOLDER / "expected.jsonl").read_text("utf-8").splitlines()]

KINDS: Mapping[str, tuple[str, ...]] = {
    "broken-arg": ("ARG-003",),
    "compute-capability": ("GPU-015",),
    "config-validator": (
        "ARG-020",
        "ARG-015",
    ),
    "draft-vocabulary": ("ARG-014",),
    "drain-too-short": ("ROLL-010",),
    "flag-value-unknown": (
        "ARG-003",
        "ARG-020",
    ),
    "gated-without-token": ("STO-006",),
    "gpu-wasted": (
        "GPU-001",
        "GPU-004",
    ),
    "home-not-writable": ("SEC-008",),
    "image-floating": ("VER-001",),
    "keda-webhook": ("DOC-002",),
    "kv-too-small": ("MEM-002",),
    "model-length": ("MEM-004",),
    "model-too-big": ("MEM-001",),
    "no-gpu-resource": ("GPU-007",),
    "patch-names-no-container": ("DOC-002",),
    "quantization-needs": ("GPU-014",),
    "schema-broken": ("DOC-002",),
    "schema-typo": ("DOC-004",),
    "two-autoscalers": ("SCALE-002",),
    "world-without-executor": ("ARG-020",),
}
"""Kind of fault as the rows name it -> codes that speak of it, where the finding's own fault is called otherwise."""


def said(row: Mapping[str, Any]) -> list[Finding]:
    file = FOLDER / row["file"]
    try:
        if row["command"] == "plan":
            read = read_stack(None, file)
            return list(preview(read.config, read.stack, read.source, today=TODAY).findings)
        return findings_of(file, settings=read_config(FOLDER / row["settings"]) if "settings" in row else CheckConfig())
    except InterlockError as error:
        return pytest.fail(str(error))


def _plain(path: str) -> str:
    return path.replace('["', ".").replace('"]', "")


def _fits(finding: Finding, wanted: Mapping[str, Any]) -> bool:
    named = finding.fault == wanted["kind"] or finding.code in KINDS.get(wanted["kind"], ())
    return named and finding.severity == wanted["severity"] and _plain(finding.path).startswith(_plain(wanted.get("at", "")))


def faults(row: Mapping[str, Any]) -> list[str]:
    """What is not as it should be: a finding that lacks, one that must not be, a remedy that misleads, the order."""
    found = said(row)
    wrong = []
    for wanted in row["must"]:
        told = [finding for finding in found if _fits(finding, wanted)]
        wrong += [] if told else [f"no {wanted['severity']} {wanted['kind']} at {wanted.get('at', 'any place')}"]
        wrong += [
            f"the fix lacks {word!r}: {each.remedy}" for each in told for word in row.get("remedy_has", ()) if word not in each.remedy
        ]
        wrong += [f"the fix says {word!r}: {each.remedy}" for each in told for word in row.get("remedy_lacks", ()) if word in each.remedy]
    for barred in row["must_not"]:
        wrong += [each.text() for each in found if each.code == barred["code"] and each.severity == barred.get("severity", each.severity)]
    if row.get("first_code") and (not found or found[0].code != row["first_code"]):
        wrong.append(f"{row['first_code']} is not told first")
    return wrong


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_a_document_is_judged_as_it_should_be(row: Mapping[str, Any]) -> None:
    assert faults(row) == []
