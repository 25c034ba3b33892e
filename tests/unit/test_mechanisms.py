"""The reader of refusals, and the tables of what was judged: complete, and each verdict names something that exists."""

from pathlib import Path

import pytest

from interlock.infra.catalog.field_relations import field_relations
from interlock.infra.catalog.relations import relations
from interlock.infra.rules.judge import RULES
from tools.mechanisms import go_source, page, python_source, rows, spans
from tools.mechanisms.__main__ import FOLDER, PAGE, tables
from tools.mechanisms.artefacts import ARTEFACTS

PYTHON = """
class Config:
    size: int = Field(default=1, gt=0, le=8)

    def check(self):
        if self.size > 4:
            for name in self.names:
                if not name:
                    raise ValueError(f"no name for {self.size}")
        elif self.other:
            raise ValueError("other")
        assert self.ready, "not ready"
        raise KeyError("inside")
"""
GO = """package x

func (s *Spec) validateSize(size int, path *field.Path) error {
	if size < 1 ||
		size > 8 {
		return fmt.Errorf("size %d is outside; not %s",
			size, "{")
	}
	// return errors.New("a comment")
	for _, group := range s.Groups {
		if group.Name == "" {
			allErrs = append(allErrs, field.Required(path.Child("name"), ""))
		}
	}
	if s.Ready {
		return errors.New("ready")
	}
	return nil
}
"""


def told(text: str, tmp_path: Path, name: str) -> list[tuple[str, str, str]]:
    path = tmp_path / name
    path.write_text(text)
    read = python_source.refusals(path, name) if name.endswith(".py") else go_source.refusals(path, name)
    return [(each.symbol, each.condition, each.message) for each in read]


def test_python_refusals_are_read_with_the_conditions_around_them(tmp_path: Path) -> None:
    assert told(PYTHON, tmp_path, "config.py") == [
        ("Config", "(size <= 0 or size > 8)", ""),
        ("Config.check", "self.size > 4 and for name in self.names and not name", "no name for {self.size}"),
        ("Config.check", "not self.size > 4 and self.other", "other"),
        ("Config.check", "not self.ready", "not ready"),
    ]


def test_go_refusals_are_read_with_the_conditions_around_them(tmp_path: Path) -> None:
    assert told(GO, tmp_path, "x.go") == [
        ("Spec.validateSize", "(size < 1 || size > 8)", 'fmt.Errorf("size %d is outside; not %s", size, "{")'),
        ("Spec.validateSize", '_, group := range s.Groups and group.Name == ""', 'field.Required(path.Child("name"), "")'),
        ("Spec.validateSize", "s.Ready", 'errors.New("ready")'),
    ]


def test_a_moved_line_is_the_same_condition_and_a_changed_one_is_another(tmp_path: Path) -> None:
    path = tmp_path / "config.py"
    path.write_text(PYTHON)
    first = {each.id for each in python_source.refusals(path, "config.py")}
    path.write_text("# one line more\n" + PYTHON)
    assert {each.id for each in python_source.refusals(path, "config.py")} == first
    path.write_text(PYTHON.replace("> 4", "> 5"))
    assert len({each.id for each in python_source.refusals(path, "config.py")} - first) == 2


def test_a_new_condition_is_open_and_a_judged_one_keeps_its_verdict() -> None:
    condition = rows.Condition("a.py", "A", "x > 1", "too much")
    old = rows.Row(condition.id, "x > 1", "too much", ("1",), "value", "ARG-003")
    fresh = rows.merged({"1": [condition], "2": [condition, rows.Condition("a.py", "A", "x > 2", "far too much")]})
    kept = rows.judged(fresh, [old])
    assert [each.state for each in kept] == ["covered", "open"]
    assert kept[0].versions == ("1", "2")
    said = rows.differences(fresh, [old])
    assert [text.split(":")[0] for text in said] == ["open", "versions"]
    assert [text.split(":")[0] for text in rows.differences([], [old])] == ["gone"]


def test_a_table_survives_being_written_and_read(tmp_path: Path) -> None:
    made = rows.Table("x", "y", ("1",), (rows.Row("f::s#1", "a", "b", ("1",), undecidable="files"),))
    (tmp_path / "x.json").write_text(made.text())
    assert rows.read(tmp_path / "x.json") == made


def test_a_span_is_the_last_unbroken_run_and_hand_read_bounds_hold() -> None:
    found = {"0.9.0": {"a"}, "0.10.0": set(), "0.11.0": {"a"}, "0.12.0": {"b"}, "0.13.0": set()}
    assert spans.span({"a", "b"}, found, list(found), {}) == ("0.11.0", "0.12.0")
    assert spans.span({"a", "b"}, found, list(found), {"since": "0.10.0"}) == ("0.10.0", "0.12.0")
    assert spans.span({"a", "b"}, found, list(found), {"floor": "0.12.0"}) == ("0.12.0", "0.12.0")
    assert spans.span({"c"}, found, list(found), {}) == ("", "")


def test_every_artefact_has_its_table_and_no_table_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {each.name for each in ARTEFACTS}
    for each, table in zip(ARTEFACTS, tables(), strict=True):
        assert table.versions == each.versions


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.artefact)
def test_every_verdict_names_a_rule_a_row_or_a_reason_that_exists(table: rows.Table) -> None:
    known = {rule.code for rule in RULES} | {f"relation:{each.id}" for each in relations().rows} | {"fields"}
    known |= {f"field:{each.id}" for rows_ in field_relations().values() for each in rows_}
    assert len({row.id for row in table.rows}) == len(table.rows)
    for row in table.rows:
        assert set(row.covered.split()) <= known, row.id
        assert not row.undecidable or row.undecidable in page.WHY, row.id
        assert not (row.covered and row.undecidable), row.id


def test_every_relation_stands_for_a_condition_that_was_read() -> None:
    told_by = {name for table in tables() for row in table.rows for name in row.covered.split()}
    assert {f"relation:{each.id}" for each in relations().rows} <= told_by
    assert {f"field:{each.id}" for found in field_relations().values() for each in found} <= told_by


def test_at_least_nine_of_ten_decidable_conditions_of_the_engine_are_told() -> None:
    states = [row.state for row in tables()[0].rows]
    assert states.count("covered") >= 0.9 * (states.count("covered") + states.count("open"))


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page.page(tables())
