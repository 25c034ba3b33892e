"""What an engine needs to start: lengths that no engine takes, and probes beside files that a restart finds again."""

import pytest

from tests.unit.test_rules_traps import Change, args, box, cached, env, pod, put, server, worst


def budget(seconds: int, *changes: Change) -> list[Change]:
    """A model of 32 billion parameters by its id, with so many seconds to load."""
    return [
        put("command", value=["vllm", "serve", "Qwen/Qwen2.5-32B-Instruct"]),
        put("startupProbe", "failureThreshold", value=seconds // 10),
        *changes,
    ]


def scratch(made: dict[str, object]) -> None:
    pod(made)["volumes"].append({"name": "hub", "emptyDir": {}})
    box(made)["volumeMounts"].append({"name": "hub", "mountPath": "/hub"})


@pytest.mark.parametrize(
    ("level", "changes"),
    [
        ("error", budget(120)),
        ("warning", budget(120, cached)),
        ("warning", budget(120, scratch, env(HF_HOME="/hub"))),
        ("warning", budget(120, scratch, args("--download-dir=/hub"))),
        ("error", budget(120, scratch)),
        ("error", budget(50, cached)),
        ("warning", budget(180)),
        ("none", budget(320)),
        ("none", budget(1200, cached)),
    ],
)
def test_a_probe_kills_for_ever_only_what_starts_from_nothing_each_time(level: str, changes: list[Change]) -> None:
    assert worst("ROLL-001", server(*changes)) == level


@pytest.mark.parametrize(
    ("code", "length", "level"),
    [
        ("MEM-004", "1000000000000000000000", "error"),
        ("MEM-004", "1" * 5000, "error"),
        ("ARG-020", "0", "error"),
        ("ARG-020", "-1", "none"),
        ("MEM-004", "auto", "none"),
        ("MEM-004", "32k", "none"),
        ("MEM-004", "32768", "none"),
    ],
)
def test_a_length_that_no_engine_takes_is_told(code: str, length: str, level: str) -> None:
    assert worst(code, server(args(f"--max-model-len={length}"))) == level


def test_a_length_beyond_every_size_is_let_be_where_it_is_allowed() -> None:
    allowed = env(VLLM_ALLOW_LONG_MAX_MODEL_LEN="1")
    assert worst("MEM-004", server(args("--max-model-len=1000000000000000000000"), allowed)) == "none"
