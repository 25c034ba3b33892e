"""No bundle makes a rule raise: facts of every example with random ones among them made unknown, absent, odd or empty."""

import datetime as dt
import json
import random
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.reading import load_text
from interlock.infra.facts import Bundle, Fact, State
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.judge import judge
from tools.cases.facts import bundle_of
from tools.findings.examples import Example, examples

TODAY = dt.date(2026, 11, 29)
LAW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
EXAMPLES = [given for given in examples().values() if given.code not in ("DOC-001", "DOC-003")]
ODD: dict[type, list[Any]] = {
    str: ["", "-1", "0", "0.5", "9" * 30, "\0", "vllm", "{", '{"model": 1}', "25%", "x" * 500, "auto", "meta-llama/Llama-3.1-8B", "é"],
    int: [0, -1, 1, 7, 10**12],
    float: [0.0, -1.0, 0.5, 1e12],
    bool: [True, False],
}


@cache
def _bundle(example: Example) -> Bundle:
    if example.form == "case":
        made = bundle_of(json.loads(example.bad))
        assert made is not None
        return made
    documents = [each for each in yaml.safe_load_all(example.bad) if each]
    return recognise([Document(each, "a.yaml", index) for index, each in enumerate(documents)], parse=load_text)


def _shaken(value: Any, chance: random.Random, rate: float) -> Any:
    """The same structure with some of its facts, texts and numbers replaced, and some of its lists emptied."""
    hit = chance.random() < rate
    if isinstance(value, Fact):
        if hit:
            return chance.choice([Fact(State.UNKNOWN, None, value.path, "later"), Fact(path=value.path)])
        return Fact(value.state, _shaken(value.value, chance, rate), value.path, value.why)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: _shaken(getattr(value, each.name), chance, rate) for each in fields(value) if each.init}
        return replace(value, **parts)
    if isinstance(value, dict):
        return {} if hit else {_shaken(key, chance, rate / 4): _shaken(inner, chance, rate) for key, inner in value.items()}
    if isinstance(value, tuple):
        whole = bool(value) and is_dataclass(value[0]) and not isinstance(value[0], Fact)
        return () if hit and whole else tuple(_shaken(inner, chance, rate) for inner in value)
    return chance.choice(ODD[type(value)]) if hit and type(value) in ODD else value


@LAW
@given(st.sampled_from(EXAMPLES), st.integers(0, 10**6), st.sampled_from([0.005, 0.02, 0.1]))
def test_no_bundle_makes_a_rule_raise(example: Example, seed: int, rate: float) -> None:
    bundle = _shaken(_bundle(example), random.Random(seed), rate)
    for finding in judge(bundle, today=TODAY):
        assert finding.summary


@LAW
@given(st.lists(st.sampled_from(EXAMPLES), min_size=2, max_size=3), st.integers(0, 10**6))
def test_no_mixture_of_bundles_makes_a_rule_raise(chosen: list[Example], seed: int) -> None:
    parts: dict[str, Any] = {each.name: () for each in fields(Bundle) if each.name not in ("closed", "memo")}
    for example in chosen:
        shaken = _shaken(_bundle(example), random.Random(seed), 0.01)
        parts = {name: (*value, *getattr(shaken, name)) for name, value in parts.items()}
    assert judge(Bundle(**parts, closed=bool(seed % 2)), today=TODAY) is not None
