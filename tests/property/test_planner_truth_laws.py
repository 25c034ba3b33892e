"""Laws of names, cards, versions, cache types and unverified entries (Hypothesis)."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.infra.catalog.gpus import gpu, gpus
from interlock.infra.catalog.models import entry, find, names, stored_as
from interlock.infra.catalog.versions import meant, newest
from interlock.infra.sizing import SizingRequest, Verdict, size
from interlock.infra.sizing.kv.formats import DEFAULT, FORMATS
from interlock.infra.sizing.refusals.support import _OWN

LAW = settings(max_examples=60, deadline=None, derandomize=True)
STORED = (
    "-AWQ",
    "-GPTQ-Int4",
    "-FP8-dynamic",
    "-NVFP4A16",
    "-w4a16",
    "-int4-AutoRound",
    "-bnb-4bit",
    "-AWQ-8bit",
    "-GPTQ-4b-128g",
    "-4bit",
)
SILENT = ("-BF16", "-qat", "-unsloth")
BASES = ("Qwen3-8B", "Qwen3-32B", "Meta-Llama-3.1-8B-Instruct", "gemma-3-27b-it", "Mistral-7B-Instruct-v0.3")
UNVERIFIED = tuple(name for name in names() if (found := entry(name)) is not None and not (found.verified or found.proven))
OTHERS = ("AMD Instinct MI300X", "MI250", "Radeon RX 7900", "Intel Gaudi 3", "TPU v6e", "Ascend 910B", "Trainium2")


@LAW
@given(st.sampled_from(BASES), st.sampled_from(STORED), st.permutations(SILENT), st.integers(0, 3), st.sampled_from(("", "somebody/")))
def test_what_only_says_how_weights_are_stored_is_taken_off_in_any_order(
    base: str, stored: str, silent: list[str], where: int, publisher: str
) -> None:
    parts = [*silent[:where], stored, *silent[where:]]
    name = publisher + base + "".join(parts)
    found, plain = find(name), find(base)
    assert found is not None
    assert plain is not None
    assert found.config == plain.config
    assert found.quantization is not None
    assert stored_as(name) is not None


@LAW
@given(st.sampled_from(("RTX 4090", "RTX 3080", "RTX 4060 Ti", "L40S", "A100", "H100", "RTX 2080 Ti")), st.integers(4, 160))
def test_a_size_in_the_name_of_a_card_is_its_memory(name: str, size_gb: int) -> None:
    found = gpu(f"{name} {size_gb}GB")
    assert found is not None
    assert abs(found.memory_gib.likely / size_gb - 1) < 0.1 or name == "RTX 4060 Ti"


@LAW
@given(st.sampled_from([card.name for card in gpus() if "Laptop" not in card.name and card.name.startswith("RTX")]))
def test_a_laptop_card_is_never_the_desktop_card(name: str) -> None:
    found = gpu(f"{name} Laptop GPU")
    assert found is None or "Laptop" in found.name


@LAW
@given(st.from_regex(r"0\.1\.dev[0-9]{1,5}\+g[0-9a-f]{7}", fullmatch=True) | st.sampled_from(("nightly", "banana", "0.3x", "latest")))
def test_words_for_a_version_mean_the_newest_and_are_said(text: str) -> None:
    version, why = meant(text)
    assert version == newest()
    assert text[:20] in why


@LAW
@given(st.sampled_from(sorted(FORMATS)), st.integers(1, 32).map(lambda n: 16 * n))
def test_fewer_bits_never_take_more_bytes_than_sixteen(name: str, width: int) -> None:
    assert 0 < FORMATS[name].side(width) <= FORMATS["bfloat16"].side(width) + 4


@LAW
@given(st.text("abcdefghijklmnop_0123456789", min_size=3, max_size=12), st.integers(1024, 40960))
def test_a_cache_type_that_is_not_known_gives_a_verdict_only_where_four_and_sixteen_bit_agree(word: str, length: int) -> None:
    if word in FORMATS or word in DEFAULT:
        return
    asked = SizingRequest(model="Qwen/Qwen3-8B", gpu="L4", max_model_len=length, max_num_seqs=16, vllm_version="0.33.0")
    answer = size(replace(asked, kv_cache_dtype=word), suggest=False)
    ends = {size(replace(asked, kv_cache_dtype=each), suggest=False).verdict for each in ("nvfp4", "bfloat16")}
    assert answer.verdict in ({Verdict.UNSURE} if len(ends) > 1 else ends)
    assert "kv_cache_dtype" in answer.unknown[0]


@LAW
@given(st.sampled_from(UNVERIFIED), st.sampled_from(("L4", "H100", "RTX 4060")), st.sampled_from((1, 2, 3, 8)), st.integers(512, 300_000))
def test_an_entry_that_nobody_compared_with_its_repository_refuses_nothing(name: str, card: str, tp: int, length: int) -> None:
    answer = size(SizingRequest(model=name, gpu=card, tp=tp, max_model_len=length), suggest=False)
    assert {each.kind for each in answer.refusals} <= _OWN
    assert any("not verified" in text or "shapes" in text for text in (*answer.unknown, *answer.reasons))


@LAW
@given(st.sampled_from(OTHERS), st.sampled_from(("Qwen/Qwen3-8B", "meta-llama/Llama-3.3-70B-Instruct")), st.floats(8, 400))
def test_another_makers_card_is_never_judged_as_nvidias(card: str, model: str, total: float) -> None:
    answer = size(SizingRequest(model=model, gpu=card, gpu_total_gib=total, max_model_len=4096), suggest=False)
    assert answer.verdict is Verdict.UNSURE
    assert "not an NVIDIA GPU" in answer.reasons[0]


@LAW
@given(st.sampled_from((2, 4, 8)), st.integers(1024, 131072))
def test_a_pipeline_of_0_15_is_charged_the_whole_models_cache(pp: int, length: int) -> None:
    asked = SizingRequest(model="meta-llama/Llama-3.1-70B-Instruct", gpu="H100", pp=pp, max_model_len=length, given_kv_gib=40.0)
    whole = size(replace(asked, pp=1, vllm_version="0.15.1"), suggest=False).kv_needed_gib
    assert size(replace(asked, vllm_version="0.15.1"), suggest=False).kv_needed_gib == whole
    later = size(replace(asked, vllm_version="0.17.1"), suggest=False).kv_needed_gib
    assert later is not None
    assert whole is not None
    assert later < whole


@LAW
@given(
    st.sampled_from((2, 4, 8)), st.sampled_from(("H100", "H200", "A100", "L40S", "B200")), st.sampled_from(("0.12.0", "0.19.0", "0.33.0"))
)
def test_only_compiled_engines_on_hopper_and_blackwell_hold_the_buffers_of_a_fused_all_reduce(tp: int, card: str, version: str) -> None:
    asked = SizingRequest(model="Qwen/Qwen3-32B", gpu=card, tp=tp, max_model_len=4096, vllm_version=version)
    eager = size(replace(asked, enforce_eager=True), suggest=False).non_torch_gib
    compiled = size(asked, suggest=False).non_torch_gib
    assert eager is not None
    assert compiled is not None
    more = compiled.high - eager.high
    # From four ranks on the interval of 0.33 without the buffers already holds most of them.
    least = 0.05 if version == "0.33.0" and tp > 2 else 0.2
    assert (more > least) == (card in ("H100", "H200", "B200") and version != "0.12.0")
