"""Relations between flags, variables and model facts: each condition, what is unknown, and the table that the wheels gave."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interlock.infra.catalog.conditions import Known, condition_of, row_of
from interlock.infra.catalog.relations import Relation, Relations, refused, relations, relations_of
from interlock.infra.catalog.vllm_tables import vllm_names
from interlock.infra.facts import Fact
from interlock.infra.facts.fact import absent, known, unknown
from interlock.infra.values import Version

WITNESSES = [json.loads(line) for line in (Path(__file__).parents[1] / "data" / "relation_witnesses.jsonl").read_text("utf-8").splitlines()]
OTHERS = ("env:", "model:")
PLAIN = ("vendor", "capability", "gpus", "model")


def row(*when: Any, message: str = "wrong", **kept: Any) -> Relations:
    made = {
        "id": "row",
        "when": when,
        "message": message,
        "fix": "mend it",
        "at": "a",
        "source": "x::y",
        "since": "0.20.0",
        "until": "0.30.0",
    }
    return relations_of({"read": ["0.20.0", "0.30.0"], "defaults": {"b": 2, "on": False}, "rows": [made | kept]})


def fires(found: Relations, version: str | None = "0.25.0", **facts: Any) -> bool:
    mapped = {name: value if isinstance(value, Fact) else known(value) for name, value in facts.items()}
    return bool(list(refused(mapped, version, found)))


@pytest.mark.parametrize(
    ("condition", "holds", "fails"),
    [
        ({"equals": "mp"}, "mp", "ray"),
        ({"equals": True}, "true", "false"),
        ({"equals": 8000}, "8k", "8K"),
        ({"differs": 1}, "2", "1"),
        ({"one_of": ["x", "y"]}, "y", "z"),
        ({"none_of": ["x", "y"]}, "z", "y"),
        ({"below": 4}, "3", "4"),
        ({"above": 4}, "4.5", "4"),
        ({"above": "= b"}, 3, 2),
        ({"above": "= b * 3 + 1"}, 8, 7),
        ({"indivisible_by": 4}, 6, 8),
        ({"divisible_by": 4}, 8, 6),
        ({"matches": "^s3://"}, "s3://bucket", "hub/model"),
        ({"repeats": True}, "0,1,0", "0,1,2"),
        ({"holds": "all"}, ["all", "none"], ["none"]),
        ({"item_not": "[0-9]+"}, ["1", "x"], ["1", "2"]),
        ({"keys_outside": ["a"]}, {"b": 1}, {"a": 1}),
        ({"shorter_than": 1}, [], [1]),
        ({"shorter_than": 1}, {}, {"a": 1}),
        ({"longer_than": 2}, "abc", "ab"),
        ({"key_not": "[a-z]+"}, {"a b": 1}, {"ab": 1}),
        ({"exceeds": "500m"}, "1", "0.5"),
    ],
)
def test_a_condition_holds_for_one_value_and_fails_for_its_neighbour(condition: Mapping[str, Any], holds: Any, fails: Any) -> None:
    found = row({"of": "a", **condition})
    assert fires(found, a=holds, b=absent())
    assert not fires(found, a=fails, b=absent())
    assert not fires(found, a=unknown(), b=absent())
    assert not fires(found, b=absent())


def test_stated_looks_at_what_was_written_and_not_at_the_default() -> None:
    missing = row({"of": "b", "stated": False})
    assert fires(missing, b=absent())
    assert not fires(missing, b=2)
    assert not fires(missing, b=unknown())
    assert fires(row({"of": "b", "stated": True}), b=2)
    assert fires(missing, b=known(None)), "null in JSON states nothing"


def test_an_absent_name_has_its_default_or_decides_nothing() -> None:
    assert fires(row({"of": "b", "above": 1}), b=absent())
    assert not fires(row({"of": "a", "differs": 1}), a=absent())


def test_all_conditions_must_hold_and_one_of_the_alternatives_is_enough() -> None:
    found = row({"of": "a", "equals": 1}, [[{"of": "c", "equals": 1}], [{"of": "d", "equals": 1}]])
    assert fires(found, a=1, c=0, d=1)
    assert fires(found, a=1, c=unknown(), d=1)
    assert not fires(found, a=1, c=0, d=0)
    assert not fires(found, a=0, c=1, d=1)


def test_a_row_holds_between_the_versions_in_which_it_was_read_and_nowhere_else() -> None:
    found = row({"of": "a", "equals": 1})
    assert all(fires(found, version, a=1) for version in ("0.20.0", "0.24.1", "0.30.0"))
    assert not any(fires(found, version, a=1) for version in ("0.19.9", "0.30.1", "latest", None))
    assert not fires(row({"of": "a", "equals": 1}, since="", until=""), "0.25.0", a=1)


def test_the_message_tells_values_and_sums() -> None:
    found = row({"of": "a", "above": 1}, message="{a} of {b} is {= a * b + 1}, {c} besides")
    told = next(refused({"a": known("3"), "b": absent(), "c": absent()}, "0.25.0", found))
    assert told.message == "3 of 2 is 7, (not stated) besides"


def test_numbers_that_no_machine_has_decide_nothing_and_break_nothing() -> None:
    for huge in (10**400, float("inf"), float("nan"), "1e999", "9" * 400):
        assert not fires(row({"of": "a", "indivisible_by": 3}), a=huge)
        assert not fires(row({"of": "= a * b", "below": 1}), a=huge, b=1.5)


def test_a_condition_with_two_tests_or_none_is_refused() -> None:
    for wrong in ({"of": "a"}, {"of": "a", "equals": 1, "above": 2}, {"of": "a", "equals": 1, "unless": 2}):
        with pytest.raises(ValueError, match="exactly one test"):
            condition_of(wrong)


def test_a_row_with_a_key_too_many_or_too_few_is_refused() -> None:
    right = {"id": "x", "when": [{"of": "a", "equals": 1}], "message": "m", "fix": "f", "at": "a", "source": "s"}
    assert row_of(Relation, right).severity == "error"
    for wrong in ({**right, "wen": 1}, {**right, "when": []}, {**right, "severity": "bad"}, {k: v for k, v in right.items() if k != "at"}):
        with pytest.raises(ValueError, match="row 'x'"):
            row_of(Relation, wrong)


def test_the_table_keeps_its_schema_and_its_rows_have_names_of_their_own() -> None:
    rows = relations().rows
    assert len({each.id for each in rows}) == len(rows)
    assert len(rows) > 300


@pytest.mark.parametrize("each", relations().rows, ids=lambda each: each.id)
def test_every_name_of_a_row_is_a_flag_of_its_last_version_or_another_known_fact(each: Relation) -> None:
    for name in each.names:
        flag = f"--{name.removesuffix(':json').split('.')[0]}"
        assert name in PLAIN or name.startswith(OTHERS) or vllm_names("flags").at(flag, each.until) not in (None, "unsure"), name


@pytest.mark.parametrize("each", relations().rows, ids=lambda each: each.id)
def test_every_default_that_a_row_uses_is_the_flags_own_in_all_of_its_versions(each: Relation) -> None:
    for name in each.names & set(relations().defaults):
        wanted = relations().defaults[name]
        for span in vllm_names("flags").spans.get(f"--{name}", ()):
            first, last, start, end = (Version.parse(text) or () for text in (each.since, each.until, span.since, span.until))
            met = end >= first and start <= last
            if met and "default" in span.facts and span.facts["default"] is not None:
                assert span.facts["default"] == wanted, (name, span.since, span.until)


@pytest.mark.parametrize("line", WITNESSES, ids=lambda line: line["id"])
def test_what_the_engine_refused_when_it_was_asked_fires_its_row(line: Mapping[str, Any]) -> None:
    names = {name for each in relations().rows for name in each.names}
    facts = dict.fromkeys(names, absent()) | {name: known(value) for name, value in line["facts"].items()}
    assert line["id"] in {found.relation.id for found in refused(facts, line["vllm"])}


def test_nothing_fires_for_an_engine_with_nothing_but_a_model() -> None:
    names = {name for each in relations().rows for name in each.names}
    for version in relations().read:
        assert not list(refused(dict.fromkeys(names, absent()), version))


def test_the_evaluator_takes_facts_as_the_rules_have_them() -> None:
    assert isinstance(Known({"a": known(1)}, {})("a"), int)


def test_several_of_some_names_are_two_that_are_certainly_stated() -> None:
    found = row({"of": "a", "several": ["b", "c"]})
    none: dict[str, Any] = {"a": absent(), "b": absent(), "c": absent()}
    assert fires(found, **none | {"a": 1, "c": 0})
    assert fires(found, **none | {"b": False, "c": "x"})
    assert not fires(found, **none | {"b": 1})
    assert not fires(found, **none | {"b": 1, "c": unknown()})
    assert not fires(found, **none | {"b": 1, "c": None})
    assert found.rows[0].names == {"a", "b", "c"}
    assert not found.rows[0].needs, "none of them must be stated"
