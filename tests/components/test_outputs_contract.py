import json
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest

from interlock.cli.stackfile import read_stack
from interlock.infra.plan.plan import plan
from interlock.stacks.outputs import Output, StackOutputs, stack_outputs
from tools.common import ToolError
from tools.schemas import check_contract, schema

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "docs" / "outputs.schema.json"


@pytest.fixture
def published() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PUBLISHED.read_text("utf-8"))
    return found


def outputs_of(stack: str) -> dict[str, Any]:
    config = read_stack(stack, None, ROOT).config
    return stack_outputs(config, plan(config, stack), "uid-1").model_dump(mode="json")


def test_the_contract_is_the_published_one_or_has_a_new_version(published: dict[str, Any]) -> None:
    check_contract(published, schema(StackOutputs, "Stack output interlock", "outputs"))


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_outputs_of_a_stack_fit_the_published_schema(stack: str, published: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(published).validate(outputs_of(stack))


class Fewer(Output):
    """A contract that lost its servers."""

    version: Literal[1] = 1
    """Version."""
    stack: str
    """Stack."""


class Next(Output):
    """The next contract."""

    version: Literal[2] = 2
    """Version."""
    stack: str
    """Stack."""


def test_a_change_under_the_same_version_is_refused_and_names_the_way_out(published: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="Raise `version` in StackOutputs"):
        check_contract(published, schema(Fewer, "", "outputs"))


def test_a_change_under_a_new_version_is_let_pass(published: dict[str, Any]) -> None:
    check_contract(published, schema(Next, "", "outputs"))


def test_other_words_are_no_change_of_the_contract(published: dict[str, Any]) -> None:
    spoken = json.loads(json.dumps(published).replace("Name of the stack.", "What the stack is called."))
    assert spoken != published
    check_contract(spoken, published)


def test_the_prod_outputs_say_what_a_client_needs() -> None:
    outputs = outputs_of("prod")
    chat = outputs["servers"]["chat"]
    assert chat["url"] == "http://chat.inference.svc.cluster.local/v1"
    assert chat["external_url"] == "https://chat.models.example.com/v1"
    assert chat["model"] == "chat"
    assert (chat["min_replicas"], chat["max_replicas"]) == (2, 8)
    assert chat["limits"] == {"max_model_len": 16384, "max_num_seqs": 128, "longest_answer_seconds": 600}
    assert chat["secrets"] == {"tls": "models-tls"}
    assert outputs["pools"]["h100"]["units"] - outputs["pools"]["h100"]["free"] == 12
