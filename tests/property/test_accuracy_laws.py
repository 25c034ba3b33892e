"""Laws of the fitted figures, of the scale that pictures are drawn on, and of counted cards (Hypothesis)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.cli.page.scale import scale
from interlock.cli.size_lines import request_of
from interlock.infra.catalog.overheads import Overheads, fitted
from interlock.infra.sizing import SizingRequest, size
from tools.accuracy.fit import combined

LAW = settings(max_examples=40, deadline=None)
VALUES = st.lists(st.floats(0, 2, allow_nan=False), min_size=1, max_size=8)
PLACES = st.lists(st.lists(st.floats(0, 2, allow_nan=False), min_size=1, max_size=3), min_size=1, max_size=6)  # below the twenty that trim
CARDS = ("A6000", "L4", "RTX 3090", "H100", "NVIDIA A100-SXM4-80GB")


@LAW
@given(PLACES)
def test_a_figure_holds_all_values_and_its_likely_one_lies_among_them_or_what_was_believed(places: list[list[float]]) -> None:
    prior = (0.0, 0.5, 2.0)
    low, likely, high = combined(prior, places)
    values = [value for each in places for value in each]
    assert low <= min(values) <= max(values) <= high
    assert low <= likely <= high
    assert prior[0] <= low
    assert high <= prior[2]


@LAW
@given(VALUES, st.integers(1, 5))
def test_the_more_places_say_the_same_the_narrower_a_figure_is(values: list[float], more: int) -> None:
    one, several = (combined((0.0, 0.5, 2.0), [values] * count) for count in (1, 1 + more))
    assert several[0] >= one[0]
    assert several[2] <= one[2]


@LAW
@given(st.sampled_from(sorted(fitted().figures)), st.floats(0.0, 1.0))
def test_a_wider_figure_never_narrows_the_cache(name: str, wider: float) -> None:
    known = fitted()
    low, likely, high = known.of(name)
    changed = Overheads({**known.figures, name: (low - wider, likely, high + wider)})
    for asked in ({"gpu": "L4"}, {"gpu": "H100", "tp": 2}, {"gpu": "GB10"}, {"gpu": "A100 80GB", "pp": 2, "vllm_version": "0.12.0"}):
        case = {"model": "Qwen/Qwen3-8B", "max_model_len": 8192, **asked}
        before = size(request_of(case)[0], suggest=False).kv_available_gib
        after = size(SizingRequest(**{**case, "overheads": changed}), suggest=False).kv_available_gib  # type: ignore[arg-type]
        assert before is not None
        assert after is not None
        assert after.low <= before.low + 1e-9
        assert after.high >= before.high - 1e-9


@LAW
@given(st.sampled_from(("Qwen/Qwen3-8B", "openai/gpt-oss-120b", "BAAI/bge-m3")), st.sampled_from(CARDS), st.floats(0.3, 0.98))
def test_the_bar_of_a_card_is_whole_and_its_bracket_lies_around_where_the_cache_begins(model: str, card: str, share: float) -> None:
    drawn = scale(size(SizingRequest(model=model, gpu=card, gpu_memory_utilization=share, max_model_len=4096), suggest=False))
    if drawn is None:
        return
    held = sum(term.gib.likely for term in drawn.terms if term.name not in ("kv_cache", "outside"))
    assert abs(sum(drawn.share(term) for term in drawn.terms) - 1) < 1e-6
    assert drawn.low <= held <= drawn.high
    assert drawn.whole >= drawn.total


@LAW
@given(st.integers(2, 16), st.sampled_from((" x ", "x ", "× ", "*")), st.sampled_from(CARDS))
def test_a_count_before_a_card_is_so_many_ranks_of_that_card(count: int, times: str, card: str) -> None:
    counted, _ = request_of({"model": "Qwen/Qwen3-8B", "gpu": f"{count}{times}{card}"})
    stated, _ = request_of({"model": "Qwen/Qwen3-8B", "gpu": card, "tp": count})
    assert (counted.gpu, counted.tp) == (stated.gpu, stated.tp)
