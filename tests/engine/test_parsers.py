"""The parsers of vLLM itself take every command line that the plan makes, or the plan refuses it before anything starts."""

from collections.abc import Mapping

import pytest

from tools.common import ToolError
from tools.parsers.asking import VERSIONS, answers, missing
from tools.parsers.draws import Line, planned, stated

STACKS = 80
"""Drawn for each version; `python -m tools.parsers` draws more."""


@pytest.fixture(scope="module")
def told() -> Mapping[str, list[tuple[Line, str]]]:
    """Each version's command lines with what its parser says against them."""
    try:
        reason = missing()
    except ToolError as error:
        reason = str(error)
    if reason:
        pytest.skip(reason)
    wrong = Line({}, ("some/model", "--no-such-option"))
    lines = {version: [wrong, *planned(version, STACKS), *stated(version)] for version in VERSIONS}
    found = answers({version: [line.argv for line in each] for version, each in lines.items()})
    return {version: list(zip(lines[version], found[version], strict=True)) for version in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_command_line_of_the_plan_is_taken_by_the_parser_of_its_version(
    version: str, told: Mapping[str, list[tuple[Line, str]]]
) -> None:
    (_, about_the_wrong_one), *others = told[version]
    assert "unrecognized arguments: --no-such-option" in about_the_wrong_one
    assert [(line.told or line.argv, text) for line, text in others if text and not line.refused()] == []
