"""The argument reader reads what vLLM's parser reads, and names what it refuses."""

import pytest

from interlock.infra.engine.arguments import Arguments, read_arguments
from interlock.infra.engine.words import Word


def read(*words: str, split: bool = False) -> Arguments:
    return read_arguments([Word(word, path=f"args[{index}]") for index, word in enumerate(words)], split=split)


def values(arguments: Arguments) -> dict[str, str | None]:
    return {flag.name: flag.value.value for flag in arguments.flags}


@pytest.mark.parametrize(
    "words",
    [
        ["--tensor-parallel-size", "2"],
        ["--tensor-parallel-size=2"],
        ["--tensor_parallel_size=2"],
        ["--tensor_parallel_size", "2"],
        ["-tp", "2"],
        ["-tp=2"],
        ["-tp2"],
        ["--tensor-parallel", "2"],
    ],
)
def test_every_spelling_of_a_flag_is_the_same_flag(words: list[str]) -> None:
    read_ = read(*words)
    assert values(read_) == {"tensor-parallel-size": "2"}
    assert read_.problems == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--enforce-eager", "m"], {"enforce-eager": "true"}),
        (["--no-enable-prefix-caching"], {"enable-prefix-caching": "false"}),
        (["--served-model-name", "a", "b", "--port", "1"], {"served-model-name": "a b", "port": "1"}),
        (["--seed", "-1"], {"seed": "-1"}),
        (["--chat-template={{ x }} --y"], {"chat-template": "{{ x }} --y"}),
        (["--kv-transfer-config", '{"a": "b --c"}'], {"kv-transfer-config": '{"a": "b --c"}'}),
    ],
)
def test_values_go_to_the_flags_that_take_them(words: list[str], expected: dict[str, str]) -> None:
    assert values(read(*words)) == expected


def test_dotted_flags_join_to_one_json() -> None:
    read_ = read("--speculative-config.method", "ngram", "--speculative-config.num_speculative_tokens=3")
    assert values(read_) == {"speculative-config": '{"method": "ngram", "num_speculative_tokens": 3}'}


def test_the_first_word_that_is_no_flag_is_the_model() -> None:
    assert [word.text for word in read("org/model", "--port", "1").positionals] == ["org/model"]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["m", "--port", "8000", "8080"], "broken-arg"),
        (["--", "host", "0.0.0.0"], "broken-arg"),
        (["-- host", "0.0.0.0"], "broken-arg"),
        (["--model m"], "broken-arg"),
        (["-tp 2"], "broken-arg"),
        (["-port", "8000"], "broken-arg"),
        (["–dtype", "auto"], "broken-arg"),
        (["tensor-parallel-size=2"], "broken-arg"),
        (["--enforce-eager", "true"], "broken-arg"),
        (["--port", "1", "--port", "2"], "dup-flag"),
    ],
)
def test_text_that_the_parser_cannot_take_is_named(words: list[str], kind: str) -> None:
    assert kind in {problem.kind for problem in read(*words).problems}


def test_what_was_meant_by_a_joined_item_is_still_read() -> None:
    assert values(read("--model m")) == {"model": "m"}


@pytest.mark.parametrize("words", [["--api-key", "a", "--api-key", "b"], ["--middleware=a", "--middleware=b"]])
def test_flags_that_add_up_are_no_duplicates(words: list[str]) -> None:
    assert read(*words).problems == []


def test_an_unknown_list_of_words_makes_the_command_line_incomplete() -> None:
    read_ = read_arguments([Word("--port"), Word("1"), Word("", known=False, many=True, raw="$ARGS")])
    assert not read_.complete
    assert values(read_) == {"port": "1"}


def test_an_unknown_variable_after_a_flag_is_its_value() -> None:
    read_ = read_arguments([Word("--tensor-parallel-size"), Word("", known=False, many=True, raw="$N")])
    assert read_.complete
    assert read_.flags[0].value.unknown


def test_items_that_charts_join_are_split_without_complaint() -> None:
    assert read("--model m --port 1", split=True).problems == []
