from tools.config_reference import ARGUMENTS, PAGE, arguments_page, page


def test_the_configuration_reference_is_the_one_of_the_models() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m tools.config_reference` and commit"


def test_every_field_of_a_server_stands_in_it_with_its_description() -> None:
    text = page()
    assert "| `startup_seconds` | integer | `null` | Startup probe budget; omit to let the planner decide" in text
    assert "## interlock:cluster" in text


def test_the_reference_speaks_of_what_a_person_writes_and_not_of_python() -> None:
    assert not [line for line in page().splitlines() if "None" in line or "Most " in line or "Fewest " in line]


def test_the_page_of_engine_arguments_is_the_one_of_the_parsers() -> None:
    assert ARGUMENTS.read_text("utf-8") == arguments_page(), "run `python -m tools.config_reference` and commit"


def test_an_argument_stands_there_with_its_type_default_and_first_version() -> None:
    assert "| `max_num_queued_reqs` | whole number |  | 0.29.0 |" in arguments_page()
    assert '| `performance_mode` | `balanced`, `interactivity`, `throughput` | `"balanced"` | 0.17.0 |' in arguments_page()
