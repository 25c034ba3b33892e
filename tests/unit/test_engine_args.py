import pytest
from pydantic import ValidationError

from interlock.infra.engine.args import EngineArgs, ServeArgs


def test_the_command_line_is_in_a_stable_order_with_the_users_arguments_last() -> None:
    args = ServeArgs(
        model="m",
        served_model_name="name",
        shutdown_timeout=600,
        engine=EngineArgs(max_model_len=8192, tensor_parallel_size=2, enable_prefix_caching=False, enforce_eager=True),
        extra=("--foo", "1"),
    )
    expected = "m --served-model-name name --port 8000 --shutdown-timeout 600 --tensor-parallel-size 2 --max-model-len 8192"
    assert " ".join(args.to_argv()) == expected + " --enforce-eager --no-enable-prefix-caching --foo 1"


def test_json_arguments_are_written_with_sorted_keys() -> None:
    args = ServeArgs(model="m", served_model_name="m", engine=EngineArgs(speculative_config={"num_speculative_tokens": 3, "method": "mtp"}))
    assert args.to_argv()[-1] == '{"method":"mtp","num_speculative_tokens":3}'


def test_what_is_not_set_is_left_to_vllm() -> None:
    assert ServeArgs(model="m", served_model_name="m").to_argv() == ("m", "--served-model-name", "m", "--port", "8000")


def test_the_gpus_of_an_engine_are_tp_times_pp_times_dp() -> None:
    assert EngineArgs(tensor_parallel_size=4, pipeline_parallel_size=2, data_parallel_size=3).gpus == 24
    assert EngineArgs().gpus == 1


def test_engine_arguments_survive_json() -> None:
    args = ServeArgs(model="m", served_model_name="m", engine=EngineArgs(dtype="float32"), extra=("--x",))
    assert ServeArgs.model_validate_json(args.model_dump_json()) == args


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_loras": 4}, "without enable_lora"),
        ({"gpu_memory_utilization": 1.2}, "less than or equal to 1"),
        ({"tensor_parallel_size": 0}, "greater than or equal to 1"),
        ({"dtype": "fp8"}, "dtype"),
    ],
)
def test_what_vllm_would_refuse_at_start_is_refused_here(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EngineArgs.model_validate(values)


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("max_model_len", "auto", -1),
        ("max_model_len", -1, -1),
        ("max_model_len", "32k", 32_000),
        ("max_num_batched_tokens", "8K", 8192),
        ("kv_cache_memory_bytes", "4G", 4 * 2**30),
        ("kv_cache_memory_bytes", "1.5g", 1_500_000_000),
        ("kv_cache_memory_bytes", 5, 5),
    ],
)
def test_numbers_are_read_as_vllms_parser_reads_them(name: str, written: str | int, read: int) -> None:
    assert getattr(EngineArgs.model_validate({name: written}), name) == read


@pytest.mark.parametrize(
    ("name", "written", "told"),
    [
        ("kv_cache_memory_bytes", "4Gi", "write 4G, which is 4294967296"),
        ("kv_cache_memory_bytes", "1.5Gi", "write 1610612736"),
        ("kv_cache_memory_bytes", "1.5G", "write 1610612736"),
        ("kv_cache_memory_bytes", "auto", "only max_model_len may be left to the engine"),
        ("max_num_seqs", "-1", "only max_model_len"),
        ("max_model_len", "0", "a number of tokens from 1 on, or auto"),
        ("max_model_len", -2, "greater than or equal to -1"),
        ("max_model_len", "long", "is not an integer such as"),
    ],
)
def test_a_number_that_the_parser_refuses_is_refused_with_what_to_write(name: str, written: str | int, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        EngineArgs.model_validate({name: written})
