"""Facts are plain data with a version: they survive JSON, and only known ones give a value."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from interlock.infra.facts import FACTS_VERSION, Bundle, Fact, State, Workload, absent, known, unknown
from interlock.infra.recognise import Document, recognise

ROOT = Path(__file__).resolve().parents[2]
facts = st.one_of(
    st.builds(known, st.integers(), st.text(max_size=10)),
    st.builds(unknown, st.text(max_size=10), st.text(max_size=10)),
    st.builds(absent, st.text(max_size=10)),
)


@given(facts)
def test_a_fact_survives_json(fact: Fact[int]) -> None:
    adapter = TypeAdapter(Fact[int])
    assert adapter.validate_json(adapter.dump_json(fact)) == fact


@given(facts, st.integers())
def test_a_default_stands_in_for_what_is_absent_and_never_for_what_is_unknown(fact: Fact[int], value: int) -> None:
    filled = fact.default(value)
    assert filled.known == (fact.known or fact.absent)
    assert filled.unknown == fact.unknown
    if fact.absent:
        assert filled.get() == value
    if fact.known:
        assert filled == fact


@given(facts)
def test_only_a_known_fact_gives_its_value(fact: Fact[int]) -> None:
    if fact.known:
        assert fact.map(lambda value: value + 1).get() == fact.get() + 1
    else:
        with pytest.raises(LookupError):
            fact.get()
        assert fact.map(lambda value: value + 1).state is fact.state


def test_a_value_that_cannot_be_changed_becomes_unknown_with_the_reason() -> None:
    made = known("x", "a.b").map(int)
    assert (made.state, made.path) == (State.UNKNOWN, "a.b")
    assert "invalid literal" in made.why


@pytest.fixture
def bundle() -> Bundle:
    golden = (ROOT / "tests/golden/rendered/dev.yaml").read_text("utf-8")
    return recognise([Document(data, "dev.yaml", index) for index, data in enumerate(yaml.safe_load_all(golden))])


@pytest.mark.parametrize("kind", [Workload, Bundle])
def test_workload_facts_carry_a_version_and_survive_json(bundle: Bundle, kind: type[Any]) -> None:
    value = bundle if kind is Bundle else bundle.workloads[0]
    adapter = TypeAdapter(kind)
    assert adapter.validate_json(adapter.dump_json(value)) == value
    assert bundle.workloads[0].facts_version == FACTS_VERSION
