from hypothesis import given
from hypothesis import strategies as st

from interlock.infra.errors import ConfigError
from interlock.infra.naming import LABEL_LIMIT, check_name, content_hash, joined
from interlock.infra.values import binary, bytes_of, seconds

names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(st.integers(min_value=0, max_value=2**60))
def test_a_size_survives_its_way_through_text(size: int) -> None:
    assert bytes_of(binary(size)) == size


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_is_the_sum_of_its_parts(hours: int, minutes: int, secs: int) -> None:
    assert seconds(f"{hours}h{minutes}m{secs}s") == hours * 3600 + minutes * 60 + secs


@given(st.lists(names, min_size=1, max_size=5))
def test_a_joined_name_is_valid_or_refused_and_never_cut(parts: list[str]) -> None:
    whole = "-".join(parts)
    try:
        assert joined(*parts) == whole
        assert check_name(whole) is None
    except ConfigError:
        assert len(whole) > LABEL_LIMIT


@given(st.dictionaries(st.text(max_size=5), st.integers()))
def test_a_content_hash_does_not_depend_on_the_order_of_keys(data: dict[str, int]) -> None:
    assert content_hash(data) == content_hash(dict(reversed(data.items())))
    assert content_hash(data) != content_hash({**data, "another key": 1})
