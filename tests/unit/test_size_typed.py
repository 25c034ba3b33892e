"""``interlock size`` as people type it: cards with a count, folders that hold no model, the local cache, grids and pictures."""

import json
import re
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from interlock.cli.page.scale import scale
from interlock.cli.plot import _COLOURS, drawing
from interlock.cli.size_grid import MOST, cell
from interlock.infra.sizing import SizingRequest, Verdict, size
from tests.support.commands import run as command
from tools.common import ROOT

run = partial(command, "size")
TINY = {
    **{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4, "vocab_size": 1024},
    **{"intermediate_size": 512, "max_position_embeddings": 4096, "architectures": ["LlamaForCausalLM"]},
}


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, whatever the machine's own holds."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    return tmp_path / "hub"


def keep(hub: Path, name: str, config: dict[str, object], revision: str = "abc") -> None:
    """Puts a repository into the cache as the hub's client lays it out."""
    folder = hub / f"models--{name.replace('/', '--')}"
    (folder / "snapshots" / revision).mkdir(parents=True)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs/main").write_text(revision)
    (folder / "snapshots" / revision / "config.json").write_text(json.dumps(config))


def test_a_count_before_a_card_is_tensor_parallel() -> None:
    counted, stated = (
        json.loads(run("-m", "Qwen/Qwen3-8B", "--json", *words).stdout) for words in (["-g", "2x A6000"], ["-g", "A6000", "--tp", "2"])
    )
    assert counted["param_bytes"] == stated["param_bytes"]
    assert counted["kv_available_gib"] == stated["kv_available_gib"]


def test_a_count_that_contradicts_the_parallel_sizes_is_told() -> None:
    told = run("-m", "Qwen/Qwen3-8B", "-g", "2x A6000", "--tp", "4")
    assert told.exit_code == 2
    assert "'2x A6000' are 2 GPUs, TP 4 x PP 1 x DP 1 = 4" in told.stderr


def test_a_repository_in_the_local_cache_is_read_before_the_catalog(hub: Path) -> None:
    keep(hub, "acme/tiny", TINY)
    keep(hub, "Qwen/Qwen3-8B", {**TINY, "max_position_embeddings": 2048})
    for name, length in (("acme/tiny", 4096), ("Qwen/Qwen3-8B", 2048)):
        assert json.loads(run("-m", name, "-g", "L4", "--json").stdout)["max_model_len"] == length
    assert "(its config.json in the local cache)" in run("-m", "acme/tiny", "-g", "L4").stdout


def test_a_cache_without_the_repository_or_with_a_broken_one_changes_nothing(hub: Path) -> None:
    (hub / "models--Qwen--Qwen3-8B/snapshots/abc").mkdir(parents=True)
    assert json.loads(run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--json").stdout)["max_model_len"] == 40960


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"adapter_config.json": '{"base_model_name_or_path": "Qwen/Qwen3-8B", "r": 32}'},
            "--model Qwen/Qwen3-8B -a enable_lora=true -a max_lora_rank=32",
        ),
        ({"adapter_config.json": "{}"}, "is an adapter (LoRA) of its base model, not a model"),
        ({"adapter_config.json": "["}, "is not JSON"),
        ({"model-Q4.gguf": ""}, "GGUF weights are read by a plug-in only"),
        ({}, "config.json cannot be read"),
    ],
)
def test_a_folder_that_holds_no_model_says_what_to_size_instead(tmp_path: Path, files: dict[str, str], words: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    told = run("-m", str(tmp_path), "-g", "L4")
    assert told.exit_code == 2
    assert words in told.stderr


def test_the_advice_for_an_adapter_can_be_followed(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "Qwen/Qwen3-8B", "r": 64}')
    advice = re.search(r"--model .*max_lora_rank=64", run("-m", str(tmp_path), "-g", "H100").stderr)
    assert advice is not None
    with_slot = json.loads(run(*advice.group().split(), "-g", "H100", "--json").stdout)
    assert (
        with_slot["weights_gib"]["likely"] > json.loads(run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--json").stdout)["weights_gib"]["likely"]
    )


def test_another_makers_card_is_said_to_be_one() -> None:
    assert "'MI300X' is not an NVIDIA GPU" in run("-m", "Qwen/Qwen3-8B", "-g", "MI300X").stderr


def test_an_encoder_shows_neither_tokens_nor_requests() -> None:
    shown = run("-m", "BAAI/bge-m3", "-g", "L4").stdout
    assert "no KV cache needed" in shown
    assert "KV tokens" not in shown
    assert "at the same time" not in shown


GRID = ("-m", "Qwen/Qwen3-8B", "--max-model-len", "8k,32k", "--tp", "1,2", "--gpu", "l4,h100")


def test_every_place_of_a_grid_is_its_own_sizing() -> None:
    rows = json.loads(run(*GRID, "--json").stdout)
    assert {(row["gpu"], row["tp"], row["max_model_len"]) for row in rows} == {
        (card, tp, length) for card in ("l4", "h100") for tp in ("1", "2") for length in (8000, 32000)
    }
    for row in rows:
        alone = size(SizingRequest(model="Qwen/Qwen3-8B", gpu=row["gpu"], tp=int(row["tp"]), max_model_len=row["max_model_len"]))
        assert (row["verdict"], row["kv_needed_gib"]) == (alone.verdict, alone.kv_needed_gib)


def test_a_grid_is_one_table_with_the_lengths_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = run(*GRID)
    assert shown.exit_code == 0
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["--gpu", "--tp", "--max-model-len", "8k", "32k"] in lines
    first = next(line for line in lines if line[:2] == ["l4", "1"])
    assert first[-1] == "no"
    assert float(first[-2]) > 1


def test_a_grid_in_which_nothing_fits_ends_with_1_and_says_why_where_it_is_not_memory() -> None:
    shown = run("-m", "Qwen/Qwen3-8B,Qwen/Qwen3-32B", "--gpu", "P40")
    assert shown.exit_code == 1
    assert "compute capability 6.1" in shown.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--gpu", "l4,banana"], "'banana' is not in the catalog"),
        (["--gpu", "l4,"], "has an empty value between its commas"),
        (["--tp", "1,x", "--gpu", "l4"], "'x' is not a number"),
        (["--max-model-len", ",".join(str(n) for n in range(1000, 1000 + MOST + 1)), "--gpu", "l4"], f"more than the {MOST}"),
        (["--gpu", "l4,h100", "--plot", "x.svg"], "draws one card"),
        (["--gpu", "l4", "--plot", "/nowhere/x.svg"], "cannot be written"),
    ],
)
def test_a_grid_that_makes_no_sense_is_a_message(words: list[str], told: str) -> None:
    shown = run("-m", "Qwen/Qwen3-8B", *words)
    assert shown.exit_code == 2
    assert told in shown.stderr


def test_a_name_that_holds_a_comma_is_one_card() -> None:
    assert run("-m", "Qwen/Qwen3-8B", "-g", "RTX PRO 6000 Blackwell 96GB (97,887 MiB)", "--json").exit_code == 0


@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "meta-llama/Llama-3.3-70B-Instruct", "BAAI/bge-m3"])
def test_the_picture_is_to_scale_and_holds_every_term(model: str) -> None:
    answer = size(SizingRequest(model=model, gpu="L40S", max_model_len=8192))
    card = scale(answer)
    assert card is not None
    root = ElementTree.fromstring(drawing(card, "<b> & c", "fits"))
    texts = " ".join("".join(each.itertext()) for each in root)
    assert all(f"{term.gib.likely:.1f}" in texts or "short" in texts for term in card.terms)
    bars = [each for each in root if each.tag.endswith("rect") and each.find("{*}title") is not None]
    widths = {"".join(each.itertext()).split(" ")[0]: float(each.get("width", "0")) for each in bars}
    assert sum(widths.values()) == pytest.approx(720, abs=1)
    assert answer.weights_gib is not None
    assert widths["weights"] == pytest.approx(720 * answer.weights_gib.likely / card.whole, abs=1)
    assert ("red line" in texts) == card.over


def test_size_and_explain_write_the_picture(tmp_path: Path) -> None:
    assert run("-m", "Qwen/Qwen3-8B", "-g", "H100", "--plot", str(tmp_path / "a.svg"), "--json").exit_code == 0
    assert command("explain", "chat", "--stack", "dev", "--plot", str(tmp_path / "b.svg")).exit_code == 0
    assert all((tmp_path / name).read_text().startswith("<svg") for name in ("a.svg", "b.svg"))
    assert "nothing to draw" in run("-m", "Qwen/Qwen3-8B", "-g", "P40", "--plot", str(tmp_path / "c.svg")).stderr


def test_the_picture_of_the_documents_is_what_the_command_draws(tmp_path: Path) -> None:
    page = (ROOT / "docs/size.md").read_text("utf-8")
    found = re.search(r"^\$ interlock size (.*) --plot docs/card.svg --json$", page, re.MULTILINE)
    assert found is not None
    assert run(*shlex.split(found.group(1)), "--plot", str(tmp_path / "card.svg"), "--json").exit_code == 0
    assert (tmp_path / "card.svg").read_text() == (ROOT / "docs/card.svg").read_text(), "type the command of docs/size.md again"


def test_the_page_and_the_picture_have_the_same_colours() -> None:
    sheet = (ROOT / "cli/page/page.css").read_text("utf-8").split("@media")[0]
    assert {name: colour for name, colour in re.findall(r"--(\w+): (#[0-9a-f]{6})", sheet) if name in _COLOURS} == _COLOURS


def test_an_unsure_place_shows_both_ends() -> None:
    answer = size(SizingRequest(model="Qwen/Qwen3-8B", gpu="L4", max_model_len=20480, vllm_version="0.33.0"))
    assert answer.verdict == "unsure"
    assert re.fullmatch(r"unsure \d\.\d \.\. \d\.\d", cell(answer))


def test_a_model_may_stand_without_its_option() -> None:
    assert run("Qwen/Qwen3-8B", "-g", "L4", "--json").stdout == run("-m", "Qwen/Qwen3-8B", "-g", "L4", "--json").stdout
    twice = run("Qwen/Qwen3-8B", "-m", "Qwen/Qwen3-4B", "-g", "L4")
    assert twice.exit_code == 2
    assert "Qwen/Qwen3-4B contradicts Qwen/Qwen3-8B" in twice.stderr


def test_a_line_takes_the_config_of_the_local_cache_as_one_command_does(hub: Path, tmp_path: Path) -> None:
    keep(hub, "acme/tiny", TINY)
    keep(hub, "acme/broken", {})
    lines = tmp_path / "cases.jsonl"
    lines.write_text("\n".join(json.dumps({"model": name, "gpu": "L4"}) for name in ("acme/tiny", "acme/broken", "acme/absent")))
    tiny, broken, absent = (json.loads(line) for line in run("--jsonl", str(lines)).stdout.splitlines())
    assert tiny["param_bytes"] == json.loads(run("-m", "acme/tiny", "-g", "L4", "--json").stdout)["param_bytes"]
    assert (broken["verdict"], absent["verdict"]) == ("unsure", "unsure")


def test_a_name_that_is_none_of_the_catalog_says_what_was_taken() -> None:
    wrong = json.loads(run("microsoft/Qwen3-8B", "-g", "L4", "--json").stdout)
    assert "microsoft/Qwen3-8B is not in the catalog: the shapes of Qwen/Qwen3-8B, taken" in wrong["unknown"]
    assert not [text for text in json.loads(run("Qwen/Qwen3-8B", "-g", "L4", "--json").stdout)["unknown"] if "the shapes of" in text]


def test_a_large_model_on_small_cards_is_offered_ranks_and_fewer_bits_together() -> None:
    asked = SizingRequest(model="meta-llama/Llama-3.3-70B-Instruct", gpu="RTX 4090", max_model_len=16384)
    ways = [each for each in size(asked).suggestions if {"tp", "quantization"} <= set(each.change)]
    assert len(ways) == 1
    assert size(replace(asked, **ways[0].change)).verdict is Verdict.FITS
    roomy = size(replace(asked, gpu="H100", max_model_len=131072))
    assert "an fp8 checkpoint such as RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic" in " ".join(each.text for each in roomy.suggestions)
