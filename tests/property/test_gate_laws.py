"""Laws of what stands in front of the engine: limits, shares, keys, bodies, deadlines, heat."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.runtime.gate import access, bucket
from interlock.runtime.gate.body import LONG, Asked, read, with_field
from interlock.runtime.gate.governor import adjusted
from interlock.runtime.gate.priority import MOST_ANSWER, deadline

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.text(max_size=8)
    | st.sampled_from(["model", "chat", '"model":"x"', "\\u006d"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["model", "a", "messages", "mödel"]), inner, max_size=3),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from(["model", "messages", "user", "max_tokens", "Model"]), JSON, max_size=4)


@given(st.lists(st.tuples(st.floats(0, 30), st.floats(0, 50)), max_size=40), st.integers(1, 600))
@settings(max_examples=40)
def test_no_minute_gives_more_than_two_minutes_worth_and_what_is_refused_is_possible_after_the_wait(uses: Any, rate: int) -> None:
    now, held, taken = 0.0, bucket.full(rate, 0.0), list[tuple[float, float]]()
    for pause, need in uses:
        now += pause
        held = bucket.refilled(held, rate, now)
        assert held[0] <= rate
        seconds = bucket.wait(held, rate, need)
        if seconds:
            later = bucket.refilled(held, rate, now + seconds + 1e-6)
            assert bucket.wait(later, rate, need) < 1e-3
        else:
            held = bucket.take(held, need)
            taken.append((now, min(need, rate)))
    for at, _ in taken:
        assert sum(amount for when, amount in taken if at <= when < at + bucket.MINUTE) <= 2 * rate + 1e-6


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 20)), st.integers(1, 40), st.sampled_from("abcdef"))
@settings(max_examples=50)
def test_a_tenant_below_its_share_is_let_in_and_one_alone_has_everything(running: dict[str, int], capacity: int, tenant: str) -> None:
    there = {name for name, count in running.items() if count} | {tenant}
    if running.get(tenant, 0) < max(capacity // len(there), 1):
        assert bucket.share(running, running, capacity, tenant)
    alone = running.get(tenant, 0)
    assert bucket.share({tenant: alone}, {}, capacity, tenant) == (alone < capacity)
    if bucket.share(running, running, capacity, tenant) and alone >= max(capacity // len(there), 1):
        assert sum(running.values()) < capacity


@given(BODIES, st.booleans(), st.booleans(), st.integers(-(2**40), 2**40))
@settings(max_examples=50)
def test_a_body_says_the_same_however_long_it_is_and_takes_a_field_without_losing_another(
    body: dict[str, Any], padded: bool, ascii_only: bool, value: int
) -> None:
    made = {"pad": "x" * LONG, **body} if padded else body
    text = json.dumps(made, ensure_ascii=ascii_only).encode()
    found = read(text)
    assert found is not None
    assert found.model == made.get("model")
    assert json.loads(with_field(text, found, b"priority", value)) == {**made, "priority": value}


@given(st.binary(max_size=60))
@settings(max_examples=50)
def test_any_bytes_are_read_or_refused_and_no_key_but_the_right_one_opens(data: bytes) -> None:
    assert read(data) is None or isinstance(read(data), Asked)
    keys = access.Keys(bytes(32), {"a-1": ("a", access.hashed(bytes(32), b"secret"))})
    assert access.holder(keys, data) == ("a" if data == b"a-1.secret" else "")
    for reader in (access.read_policy, access.read_keys):
        try:
            reader(data)
        except access.AccessError:
            continue


@given(st.sampled_from(list(access.CLASSES)), st.integers(0, 10**6), st.integers(-5, 10**9), st.floats(0, 10**6))
@settings(max_examples=40)
def test_a_deadline_is_after_the_arrival_by_a_bounded_time_and_more_work_is_never_earlier(
    kind: str, prompt: int, answer: int, came: float
) -> None:
    made = deadline(came, kind, prompt, answer)
    assert int(came * 1000) <= made <= came * 1000 + access.CLASSES[kind] * (prompt + MOST_ANSWER)
    assert deadline(came, kind, prompt + 1, answer) > made
    assert made < 2**63


@given(st.lists(st.tuples(st.integers(20, 110), st.integers(0, 300)), max_size=30), st.integers(1, 256))
@settings(max_examples=40)
def test_heat_never_raises_the_limit_and_coolness_never_lowers_it(seen: Any, most: int) -> None:
    limit = most
    for celsius, running in seen:
        after = adjusted(limit, running, celsius, most)
        assert 1 <= after <= most
        assert after <= limit if celsius > 85 else after >= limit
        limit = after
