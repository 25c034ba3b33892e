"""Shell scripts: which commands with which words."""

import pytest

from interlock.infra.engine.words import Command
from interlock.infra.facts import Fact, known, unknown
from interlock.infra.recognise.shell import Shell

ENVIRONMENT = {"TP": known("2"), "MODEL": known("a/b"), "KEY": unknown(why="a secret"), "EXTRA": known("--x 1 --y")}


def commands(text: str) -> list[Command]:
    return Shell(text, lambda name: ENVIRONMENT.get(name, Fact()), "args[0]").read()


def texts(command: Command) -> list[str]:
    return [word.text for word in command.words]


def test_line_continuations_quotes_and_comments_are_followed() -> None:
    (command,) = commands("# start\nvllm serve \"$MODEL\" \\\n  --name 'a b'  \\\n  --port 8000 # here\n")
    assert texts(command) == ["vllm", "serve", "a/b", "--name", "a b", "--port", "8000"]


@pytest.mark.parametrize(
    ("word", "text", "is_known"),
    [
        ("${TP:-4}", "2", True),
        ("${NOPE:-4}", "4", True),
        ("$((TP * 2 + 1))", "5", True),
        ("$(( ${TP} * 8 ))", "16", True),
        ("$((NOPE * 2))", "", False),
        ("$((2 ** 99))", "", False),
        ("$((1 / 0))", "", False),
        ("$NOPE", "", False),
        ("$KEY", "", False),
        ("$(nproc)", "", False),
        ("`hostname`", "", False),
        ("${MODEL##*/}", "", False),
        ("'$TP'", "$TP", True),
        ("\\$TP", "$TP", True),
        ("--k=$KEY", "--k=", False),
    ],
)
def test_variables_are_known_when_the_environment_or_a_default_says_so(word: str, text: str, is_known: bool) -> None:
    (command,) = commands(f"run {word}")
    assert (command.words[1].text, command.words[1].known) == (text, is_known)


def test_an_unquoted_variable_splits_into_words_and_a_quoted_one_does_not() -> None:
    (command,) = commands('run $EXTRA "$EXTRA"')
    assert texts(command) == ["run", "--x", "1", "--y", "--x 1 --y"]


def test_arrays_are_collected_and_what_a_condition_adds_may_be_missing() -> None:
    script = 'A=(--a 1)\nA+=("b c")\nif [ -n "$Q" ]; then\n  A+=(--eager)\nfi\nrun "${A[@]}"'
    run = commands(script)[-1]
    assert texts(run) == ["run", "--a", "1", "b c", "--eager"]
    assert [word.maybe for word in run.words] == [False, False, False, False, True]


def test_a_string_appended_under_a_condition_keeps_what_stood_before() -> None:
    run = commands('A="--a 1"\n[ -n "$Q" ] && A="$A --b"\nrun $A')[-1]
    assert [(word.text, word.maybe) for word in run.words] == [("run", False), ("--a", False), ("1", False), ("--b", True)]


def test_an_alternative_value_stands_there_only_when_the_variable_is_set() -> None:
    assert texts(commands("run ${TP:+--tp $TP}")[0]) == ["run", "--tp", "2"]
    assert [word.maybe for word in commands("run ${NOPE:+--tp 2}")[0].words] == [False, True, True]


def test_here_documents_are_bodies_not_commands() -> None:
    found = commands("cat > /tmp/x <<'EOF'\nvllm serve inner\nEOF\nbash /tmp/x")
    assert [texts(command) for command in found] == [["cat"], ["bash", "/tmp/x"]]
    assert (found[0].here, found[0].target) == ("vllm serve inner", "/tmp/x")


def test_exports_and_assignments_before_a_command_reach_it() -> None:
    (command,) = commands("export A=1\nB=2 run")
    assert {name: word.text for name, word in command.assignments.items()} == {"A": "1", "B": "2"}


def test_pipes_lists_and_redirections_separate_commands() -> None:
    found = commands("set -e; one 2>&1 | tee log && two > /dev/null & three")
    assert [texts(command) for command in found] == [["set", "-e"], ["one"], ["tee", "log"], ["two"], ["three"]]


def test_a_script_that_doubles_itself_stays_bounded() -> None:
    script = "A=xxxxxxxxxx\n" + "A=$A$A\n" * 60 + "run $A"
    assert len(commands(script)[-1].words[1].text) <= 50_000
