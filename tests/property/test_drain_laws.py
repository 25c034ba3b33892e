"""Laws of the drain, over any order of signals, ticks and requests; and of the spec that it reads."""

import json
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from interlock.runtime import spec
from interlock.runtime.supervise.drain import (
    CUT,
    DRAINED,
    ENGINE_DIED,
    HUNG,
    Cause,
    Effect,
    Event,
    Phase,
    State,
    Times,
    View,
    step,
    verdict,
)
from interlock.runtime.supervise.watch import kept

TICK = 0.05
seconds = st.integers(0, 40).map(lambda each: each / 4)


@st.composite
def times(draw: st.DrawFn) -> Times:
    drain = draw(seconds)
    return Times(
        min(draw(seconds), drain), drain, draw(seconds), draw(seconds), draw(seconds), draw(st.sampled_from([0.0, 2.0, 5.0])), draw(seconds)
    )


@dataclass(frozen=True)
class Moment:
    event: Event
    after: float
    view: View


@st.composite
def moments(draw: st.DrawFn, events: tuple[Event, ...] = tuple(Event), hang: bool = True) -> list[Moment]:
    view = st.builds(
        View,
        serving=st.just(True),
        inflight=st.integers(0, 3),
        refused=st.integers(0, 2),
        silence=st.sampled_from([0.0, 0.0, 0.0, 10.0]) if hang else st.just(0.0),
        follower=st.just(False),
    )
    one = st.builds(Moment, event=st.sampled_from(events), after=st.sampled_from([TICK, 1.0]), view=view)
    return draw(st.lists(one, max_size=60))


def play(story: list[Moment], limits: Times) -> tuple[State, list[tuple[float, Effect, View]]]:
    state, now, done = State(), 0.0, []
    for moment in story:
        now += moment.after
        state, effects = step(state, moment.event, now, moment.view, limits)
        done += [(now, effect, moment.view) for effect in effects]
    return state, done


@given(moments(), times())
def test_the_flag_comes_first_and_everything_at_most_once(story: list[Moment], limits: Times) -> None:
    effects = [effect for _, effect, _ in play(story, limits)[1]]
    assert len(effects) == len(set(effects))
    assert effects == [each for each in (Effect.RAISE, Effect.TERM, Effect.KILL) if each in effects]


@given(moments((Event.TICK,)), times())
def test_nobody_who_did_not_ask_ends_the_engine(story: list[Moment], limits: Times) -> None:
    assert play(story, limits) == (State(), [])


@given(moments((Event.TICK, Event.DRAIN), hang=False), times())
def test_with_requests_in_flight_the_engine_is_told_to_end_only_when_the_budget_is_over(story: list[Moment], limits: Times) -> None:
    done = play(story, limits)[1]
    begun = next((at for at, effect, _ in done if effect is Effect.RAISE), 0.0)
    for at, effect, view in done:
        if effect is Effect.TERM:
            assert view.inflight == 0 or at - begun >= limits.drain


@given(moments((Event.TICK, Event.DRAIN)), times(), st.data())
def test_draining_twice_is_draining_once(story: list[Moment], limits: Times, data: st.DataObject) -> None:
    asked = [number for number, moment in enumerate(story) if moment.event is Event.DRAIN]
    once = [Moment(Event.TICK, each.after, each.view) if number in asked[1:] else each for number, each in enumerate(story)]
    assert play(story, limits) == play(once, limits)


@given(times(), st.integers(1, 3), st.sampled_from([Event.STOP, Event.DRAIN]))
def test_a_drain_ends_within_its_budget_and_teardown_however_busy_it_stays(limits: Times, inflight: int, first: Event) -> None:
    ticks = int((limits.drain + limits.teardown) / TICK) + 4
    story = [Moment(first, TICK, View(True, inflight)), *[Moment(Event.TICK, TICK, View(True, inflight))] * ticks]
    state, done = play(story, limits)
    assert state.phase is Phase.KILLED
    assert done[-1][0] - done[0][0] <= limits.drain + limits.teardown + 3 * TICK
    assert verdict(state, -9, View(True, inflight)).code == CUT


@given(moments((Event.TICK, Event.DRAIN)), times())
def test_a_second_signal_kills_at_once(story: list[Moment], limits: Times) -> None:
    twice = [Moment(Event.STOP, TICK, View(True, 1)), Moment(Event.STOP, TICK, View(True, 1))]
    assert play([*story, *twice], limits)[0].phase is Phase.KILLED


@given(times())
def test_a_signal_after_a_drain_that_was_asked_for_cuts_nothing(limits: Times) -> None:
    limits = limits._replace(drain=60.0, settle=0.0)
    story = [Moment(Event.DRAIN, TICK, View(True, 1)), Moment(Event.STOP, TICK, View(True, 1)), Moment(Event.TICK, TICK, View(True, 1))]
    state, done = play(story, limits)
    assert state.phase is Phase.DRAINING
    assert [effect for _, effect, _ in done] == [Effect.RAISE]


@given(times(), st.integers(1, 3))
def test_a_hung_engine_is_not_waited_for(limits: Times, inflight: int) -> None:
    limits = limits._replace(hang=5.0)
    state, _ = play([Moment(Event.STOP, TICK, View(True, inflight, silence=6.0))], limits)
    assert (state.phase, state.cause) == (Phase.KILLED, Cause.HUNG)
    assert verdict(state, -9, View(True, inflight)).code == HUNG


@given(times())
def test_a_busy_engine_whose_steps_come_is_drained(limits: Times) -> None:
    limits = limits._replace(drain=30.0, settle=1.0, quiet=1.0, patience=10.0, hang=5.0, kept=1.0)
    story = [Moment(Event.STOP, TICK, View(True, 1)), *[Moment(Event.TICK, TICK, View(True, 1, silence=4.9))] * 40]
    story += [Moment(Event.TICK, TICK, View(True, 0))] * 40
    state, done = play(story, limits)
    assert [effect for _, effect, _ in done][:2] == [Effect.RAISE, Effect.TERM]
    assert (state.cause, state.cut) == (Cause.DRAINED, 0)
    assert verdict(state, 0, View()).code == DRAINED


@given(times(), st.integers(-15, 15), st.booleans())
def test_an_engine_that_ends_by_itself_is_never_0(limits: Times, status: int, draining: bool) -> None:
    story = [Moment(Event.STOP, TICK, View(True, 1))] if draining else []
    state, _ = play(story, limits._replace(drain=60.0, hang=0.0))
    assert verdict(state, status, View(True, 1)).code == ENGINE_DIED


def test_new_requests_postpone_the_end_until_patience_is_over() -> None:
    limits = Times(settle=0.0, drain=60.0, quiet=1.0, patience=5.0, teardown=1.0, hang=0.0)
    story = [Moment(Event.STOP, TICK, View(True, 0, 0))]
    story += [Moment(Event.TICK, 0.5, View(True, 0, number)) for number in range(1, 30)]
    ((at, *_),) = (each for each in play(story, limits)[1] if each[1] is Effect.TERM)
    assert 5.0 <= at - TICK < 5.6


def test_the_engine_ends_when_the_server_has_closed_what_idles_or_patience_or_budget_is_over() -> None:
    limits = Times(settle=0.0, drain=60.0, quiet=1.0, patience=10.0, teardown=1.0, hang=0.0, kept=5.0)
    story = [Moment(Event.STOP, TICK, View(True, 1)), *[Moment(Event.TICK, 0.5, View(True, 0))] * 30]
    for each, waited in ((limits, 5.0), (limits._replace(patience=2.0), 2.0), (limits._replace(drain=3.0), 2.5)):
        (at,) = (at for at, effect, _ in play(story, each)[1] if effect is Effect.TERM)
        assert waited <= at - TICK - 0.5 <= waited + 0.5


def test_how_long_vllm_keeps_an_idle_connection_is_read_as_vllm_reads_it() -> None:
    assert [kept({"VLLM_HTTP_TIMEOUT_KEEP_ALIVE": text}) for text in ("30", "0", "soon")] == [30, 0, 5]
    assert kept({}) == 5


def test_a_follower_waits_for_its_leader_and_is_ended_when_the_budget_is_over() -> None:
    limits = Times(settle=0.0, drain=10.0, quiet=1.0, patience=5.0, teardown=1.0, hang=0.0)
    follower = View(False, 0, 0, 0.0, True)
    state, done = play([Moment(Event.STOP, TICK, follower), *[Moment(Event.TICK, 1.0, follower)] * 9], limits)
    assert [effect for _, effect, _ in done] == [Effect.RAISE]
    assert verdict(state, 0, follower).code == DRAINED
    _, done = play([Moment(Event.STOP, TICK, follower), *[Moment(Event.TICK, 1.0, follower)] * 11], limits)
    assert done[-1][1] is Effect.TERM or done[-1][1] is Effect.KILL


@given(
    values=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
    cut=st.integers(0, 40),
    indent=st.none() | st.just(2),
)
def test_a_spec_is_read_as_json_reads_it(values: object, cut: int, indent: int | None) -> None:
    text = json.dumps(values, indent=indent)
    text = text[: len(text) - cut] if cut < len(text) else text
    try:
        wanted: object = repr(json.loads(text))
    except ValueError as error:
        wanted = str(error)
    try:
        read: object = repr(spec.parsed(text))
    except ValueError as error:
        read = str(error)
    assert read == wanted
