from tools.config_reference import PAGE, page


def test_the_configuration_reference_is_the_one_of_the_models() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m tools.config_reference` and commit"


def test_every_field_of_a_server_stands_in_it_with_its_description() -> None:
    text = page()
    assert "| `startup_seconds` | integer | `null` | Startup probe budget; omit to let the planner decide" in text
    assert "## interlock:cluster" in text


def test_the_reference_speaks_of_what_a_person_writes_and_not_of_python() -> None:
    assert not [line for line in page().splitlines() if "None" in line or "Most " in line or "Fewest " in line]
