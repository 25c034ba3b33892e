"""``interlock size``: tables, JSON, lines, paths and exit codes."""

import json
from functools import partial
from pathlib import Path

import pytest

from interlock.cli.budget import bar, render_budget
from interlock.infra.sizing import SizingRequest, size
from tests.support.commands import run as command

run = partial(command, "size")
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "vocab_size": 1024,
    "intermediate_size": 512,
}


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever the machine's cache of the hub holds, names mean the catalog's models."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))


def test_a_model_that_fits_ends_with_0_and_shows_every_term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "180")
    result = run("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--max-model-len", "16384")
    assert result.exit_code == 0
    for words in ("fits", "weights", "activation peak", "CUDA graphs", "KV cache", "KV tokens"):
        assert words in result.output


def test_a_model_that_does_not_fit_ends_with_1_and_says_what_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "180")
    result = run("--model", "meta-llama/Llama-3.3-70B-Instruct", "--gpu", "H100", "--max-model-len", "16384")
    assert result.exit_code == 1
    assert "would fit: --tensor-parallel-size 4" in result.output


def test_json_is_the_whole_result() -> None:
    result = run("--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--json")
    assert json.loads(result.output)["kv_bytes_per_token"] == 147456


def test_engine_arguments_are_given_by_their_vllm_name() -> None:
    few = run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--vllm-version", "0.11.0", "-a", "max-num-seqs=64", "--json")
    assert json.loads(few.output)["activation_gib"]["likely"] < 1


def test_a_folder_with_a_config_and_an_index_is_a_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "max_position_embeddings": 4096}))
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 5_000_000_000}}))
    result = run("-m", str(tmp_path), "-g", "L4", "--json")
    assert json.loads(result.output)["weights_gib"]["likely"] == pytest.approx(5e9 / 2**30, rel=0.01)


def test_lines_are_answered_one_by_one_whatever_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "model": "Qwen/Qwen3-8B", "gpu": "H100", "max_model_len": 4096}\n\n[1]\nnot json\n{"id": "b"}\n')
    result = run("--jsonl", str(path))
    answers = [json.loads(line) for line in result.output.splitlines()]
    assert [(answer["id"], answer["verdict"]) for answer in answers] == [("a", "fits"), (None, "unsure"), (None, "unsure"), ("b", "unsure")]


def test_lines_can_come_from_standard_input() -> None:
    result = run("--jsonl", "-", text='{"id": 7}\n')
    assert json.loads(result.output)["id"] == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "Qwen/Qwen3-8B", "-a", "nonsense"], "is not name=value"),
        (["-m", "Qwen/Qwen3-8B", "-a", "max_num_seqs=many"], "max_num_seqs = 'many' is not a whole number such as 32768"),
        (["-m", str(Path(__file__).parent), "-g", "H100"], "the folder's config.json cannot be read"),
        (["--jsonl", "/nowhere/at/all"], "cannot be read"),
        (["-m", "Qwen/Qwen3-8", "-g", "H100"], "'Qwen/Qwen3-8' is not in the catalog (near: Qwen/Qwen3-8B"),
        (["-m", "./nowhere", "-g", "H100"], "is neither a file or folder nor in the catalog"),
        (["-m", "Qwen/Qwen3-8B", "-g", "H1000"], "'H1000' is not in the catalog (near: H200"),
        (["-m", "Qwen/Qwen3-8B"], "--gpu: is not given"),
        (
            ["-m", "Qwen/Qwen3-8B", "-g", "L4", "--max-model-len", "4k", "-a", "max_model_len=8192"],
            "--arg: max_model_len=8192 contradicts --max-model-len 4k: keep one of them",
        ),
        (["-m", "Qwen/Qwen3-8B", "-g", "L4", "--max-model-len", "0"], "max_model_len = '0' is out of range"),
        (["-m", "Qwen/Qwen3-8B", "-g", "H100", "-a", "foo_bar=3"], "'foo_bar' is not an argument of vLLM"),
        (["-m", "Qwen/Qwen3-8B", "-g", "H100", "-a", "max_num_sequences=3"], "(near: max_num_seqs"),
        (["-m", "Qwen/Qwen3-8B", "-g", "H100", "--vllm-version", "banana"], "'banana' is not a version"),
        (["-m", "Qwen/Qwen3-8B", "-g", "H100", "-a", "dtype=int8"], "--dtype: 'int8' is not one of auto, bfloat16"),
        (["-m", "Qwen/Qwen3-8B", "-g", "H100", "-a", "dtype=fp16"], "; write float16"),
        (["-m", "Qwen/Qwen3-8B", "-g", "H100", "--quantization", "foo"], "--quantization: 'foo' is not one of"),
    ],
)
def test_wrong_usage_is_a_message_and_never_a_traceback(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_an_unknown_gpu_whose_memory_is_given_is_judged() -> None:
    result = run("-m", "Qwen/Qwen3-8B", "-g", "H1000", "--gpu-total-gib", "79.2", "--json")
    assert json.loads(result.output)["verdict"] == "fits"


def test_any_argument_of_vllm_may_be_given_and_what_is_not_followed_is_named() -> None:
    result = run("-m", "Qwen/Qwen3-8B", "-g", "H100", "-a", "port=80", "-a", 'kv_transfer_config={"kv_connector": "x"}', "--json")
    unknown = json.loads(result.output)["unknown"]
    assert "--kv-transfer-config is not followed: it may change the memory that the engine takes" in unknown
    assert not any("port" in line for line in unknown)


def test_a_config_that_is_not_json_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    result = run("-m", str(tmp_path))
    assert "is not JSON" in result.stderr


def test_the_bar_is_to_scale() -> None:
    result = size(SizingRequest(model="meta-llama/Llama-3.1-8B-Instruct", gpu="L4", max_model_len=8192))
    drawn = bar(result)
    blue = sum(span.end - span.start for span in drawn.spans if span.style == "blue")
    assert len(drawn) == 72
    assert blue == pytest.approx(72 * 14.99 / 22.03, abs=1)


def test_an_unsure_answer_without_terms_can_be_shown() -> None:
    assert render_budget(size(SizingRequest(model="nobody/nothing")), "x") is not None


def refused(*arguments: str) -> str:
    """What the command says of arguments that it cannot use."""
    result = run(*arguments)
    assert result.exit_code == 2, result
    return result.stderr


def test_a_parallel_size_under_its_own_name_counts() -> None:
    long, short = (
        run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--json", *words).output for words in (["-a", "tensor_parallel_size=2"], ["--tp", "2"])
    )
    alone = run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--json").output
    assert json.loads(long)["param_bytes"] == json.loads(short)["param_bytes"] < json.loads(alone)["param_bytes"]


@pytest.mark.parametrize(("card", "profile"), [("H100", "1g10gb"), ("L4", "1g.10gb")])
def test_a_mig_profile_that_the_card_does_not_have_is_not_the_whole_card(card: str, profile: str) -> None:
    assert f"--mig-profile: '{profile}' is not a profile of" in refused("-m", "Qwen/Qwen3-8B", "-g", card, "--mig-profile", profile)
    assert size(SizingRequest(model="Qwen/Qwen3-8B", gpu=card, mig_profile=profile)).verdict == "unsure"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[" * 5000, "is nested too deeply"),
        (b'"\xff"', "is not UTF-8 text"),
        (b"5", "does not hold a JSON object"),
        (b"{}", "is an empty object"),
    ],
)
def test_a_broken_config_is_one_message(tmp_path: Path, text: bytes, words: str) -> None:
    (tmp_path / "config.json").write_bytes(text)
    assert words in refused("-m", str(tmp_path), "-g", "H100")


@pytest.mark.parametrize("index", [{"metadata": "x"}, {"metadata": {"total_size": -5}}, {"metadata": {"total_size": "5"}}, {}])
def test_an_index_that_says_no_size_is_passed_over(tmp_path: Path, index: dict[str, object]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    assert run("-m", str(tmp_path), "-g", "H100").exit_code == 0


def test_lines_that_cannot_be_read_are_answered_and_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"a":' * 3000 + "\n{}\n", "utf-8")
    answers = [json.loads(line) for line in run("--jsonl", str(lines)).output.splitlines()]
    assert [answer["verdict"] for answer in answers] == ["unsure", "unsure"]
    lines.write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in refused("--jsonl", str(lines))


@pytest.mark.parametrize(("typed", "meant"), [("32k", 32000), ("32K", 32768), ("16384", 16384), ("auto", 40960)])
def test_a_length_is_taken_as_vllm_takes_it(typed: str, meant: int) -> None:
    result = run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--max-model-len", typed, "--json")
    assert json.loads(result.output)["max_model_len"] == meant


def test_a_length_that_is_no_number_is_a_message() -> None:
    result = run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--max-model-len", "long")
    assert result.exit_code == 2
    assert "max_model_len = 'long' is not a whole number such as 32768, 32k (32000)" in result.stderr


@pytest.mark.parametrize("words", ["dtype=half", "dtype=auto", "quantization=fp8", "quantization=AWQ", "quantization=4-bit (GPTQ)"])
def test_choices_of_the_version_and_words_of_the_planner_are_taken(words: str) -> None:
    assert run("-m", "Qwen/Qwen3-8B", "-g", "H100", "-a", words, "--json").exit_code in (0, 1)
