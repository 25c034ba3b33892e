"""A component's arguments are the config's own words: generated, and the same as the config's models."""

import pytest

from interlock.components._given import hints
from interlock.components.arguments.engine import EngineSettings
from interlock.infra.engine.options import MANAGED, options
from tools.component_arguments import ENGINE, FILES, FLOWS, FOLDER, models, module


@pytest.mark.parametrize("name", [*ENGINE, *FILES])
def test_the_arguments_are_those_of_the_config(name: str) -> None:
    assert (FOLDER / f"{name}.py").read_text("utf-8") == module(name), "write them with `make golden`"


def test_no_other_module_is_there() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*ENGINE, *FILES, "__init__"}


def test_every_field_that_flows_is_a_field_of_the_config() -> None:
    assert {(model.__name__, name) for model, names in FLOWS.items() for name in names if name not in model.model_fields} == set()
    assert set(FLOWS) <= set(models())


def test_every_argument_of_the_engine_that_a_person_may_state_is_a_field() -> None:
    assert set(hints(EngineSettings)) == set(options()) - set(MANAGED)
