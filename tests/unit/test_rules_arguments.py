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
