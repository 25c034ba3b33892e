from tools.config_reference import PAGE, page


def test_the_configuration_reference_is_the_one_of_the_models() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m tools.config_reference` and commit"


def test_every_field_of_a_server_stands_in_it_with_its_description() -> None:
    text = page()
    assert "| `startup_seconds` | integer | `null` | Startup probe budget; omit to let the planner decide" in text
    assert "## interlock:cluster" in text
