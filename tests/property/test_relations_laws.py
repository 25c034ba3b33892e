"""Laws of the relations: what is unknown never makes a row fire."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.infra.catalog.relations import refused, relations
from interlock.infra.facts import Fact
from interlock.infra.facts.fact import absent, known, unknown

ROWS = relations()
NAMES = sorted({name for each in ROWS.rows for name in each.names})


def operands(part: Any) -> list[Any]:
    """The literals of a condition, or of the alternatives of one."""
    if isinstance(part, tuple):
        return [text for each in part for text in operands(each)]
    return [*part.operand] if isinstance(part.operand, tuple) else [part.operand]


LITERALS = sorted({str(text) for each in ROWS.rows for text in operands(each.when)})
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(LITERALS),
    st.integers(-3, 70000),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=6),
    st.lists(st.one_of(st.integers(-2, 9), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
FACTS: st.SearchStrategy[Fact[Any]] = st.one_of(VALUES.map(known), st.just(absent()), st.just(unknown()))


def fired(facts: dict[str, Fact[Any]], version: str) -> set[str]:
    return {found.relation.id for found in refused(facts, version)}


@given(st.data(), st.sampled_from(ROWS.read))
def test_a_value_that_becomes_unknown_makes_no_row_fire_that_did_not(data: st.DataObject, version: str) -> None:
    row = data.draw(st.sampled_from(ROWS.rows))
    facts = dict.fromkeys(NAMES, absent()) | {name: data.draw(FACTS, label=name) for name in sorted(row.names)}
    lost = data.draw(st.sampled_from(sorted(row.names)))
    assert fired(facts | {lost: unknown()}, version) <= fired(facts, version)


@given(st.sets(st.sampled_from(NAMES)), st.sampled_from(ROWS.read))
def test_nothing_fires_on_unknown_values_alone(names: set[str], version: str) -> None:
    assert not fired(dict.fromkeys(names, unknown()), version)
    assert not fired({}, version)


@given(st.data())
def test_any_value_in_any_place_ends_in_an_answer(data: st.DataObject) -> None:
    facts = {name: data.draw(FACTS, label=name) for name in data.draw(st.lists(st.sampled_from(NAMES), max_size=12, unique=True))}
    for found in refused(facts, "0.33.0"):
        assert found.message
        assert found.fix
