"""Arguments whose meaning hangs on the checkpoint: accepted with one, refused with another."""

import pytest

from tests.unit.test_rules_traps import args, put, server, worst


@pytest.mark.parametrize(
    ("model", "level"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "none"),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "none"),
        ("org/model-FP8", "error"),
        ("org/model", "warning"),
    ],
)
def test_the_name_of_a_kernel_is_a_quantization_only_for_the_formats_that_it_reads(model: str, level: str) -> None:
    made = server(put("command", value=["vllm", "serve", model]), args("--max-model-len=4096", "--quantization=marlin"))
    assert worst("ARG-003", made) == level
    assert worst("ARG-019", made) == "none"


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ("--max-model-len=32kb", "error"),
        ("--max-num-seqs=many", "error"),
        ("--kv-cache-memory-bytes=16Gi", "error"),
        ("--gpu-memory-utilization=90%", "error"),
        ("--max-model-len=25.6k", "none"),
        ("--max-model-len=auto", "none"),
        ("--max-model-len=-1", "none"),
        ("--max-num-seqs=1_000", "none"),
        ("--kv-cache-memory-bytes=16G", "none"),
        ("--gpu-memory-utilization=9e-1", "none"),
    ],
)
def test_a_number_with_a_unit_that_the_parser_does_not_read_is_refused_and_every_one_that_it_reads_is_taken(given: str, level: str) -> None:
    assert worst("ARG-003", server(args(given))) == level
