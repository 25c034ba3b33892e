"""The engine's output on its way through, and its last words."""

import json
import os
import threading

import pytest

from interlock.runtime.supervise import streams


@pytest.mark.parametrize(
    ("tail", "last"),
    [
        ("INFO it runs\n", ""),
        ("ValueError: a\nINFO b\n", "ValueError: a"),
        (
            "RuntimeError: first\nEngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n",
            "RuntimeError: first",
        ),
        ("RuntimeError: Engine core initialization failed. See root cause above.\n", ""),
        ("vllm serve: error: unrecognized arguments: --x\n", "vllm serve: error: unrecognized arguments: --x"),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
        ),
        ("OSError: [Errno 28] No space left on device\n\n\n", "OSError: [Errno 28] No space left on device"),
        ("no errors: none\n", ""),
        (
            "(APIServer pid=7) WARNING 12-01 11:12:52 [utils.py:255] as `OSError: [Errno 24] Too many open files`\n",
            "",
        ),
        (
            "(EngineCore pid=9) ERROR 12-01 11:12:52 [core.py:1] ValueError: a\n",
            "(EngineCore pid=9) ERROR 12-01 11:12:52 [core.py:1] ValueError: a",
        ),
    ],
)
def test_the_last_error(tail: str, last: str) -> None:
    assert streams.last_error(tail.encode()) == last


def test_the_last_error_of_the_first_stream_that_has_one() -> None:
    assert streams.last_error(b"fine", b"KeyError: 'x'\n") == "KeyError: 'x'"


def through(pieces: list[bytes], stream: str = "") -> bytes:
    """What comes out when these pieces go in one by one."""
    (source, given), (result, target) = os.pipe(), os.pipe()
    pump = streams.Pump(source, target, streams.as_json(stream) if stream else None)

    def feed() -> None:
        for piece in pieces:
            os.write(given, piece)
        os.close(given)
        pump.join(10)
        os.close(target)

    threading.Thread(target=feed).start()
    with os.fdopen(result, "rb") as file:
        return file.read()


def test_bytes_pass_unchanged_in_order() -> None:
    pieces = [bytes([number % 256]) * 5000 for number in range(200)]
    assert through(pieces) == b"".join(pieces)


def test_lines_that_come_in_pieces_are_one_object_each() -> None:
    rows = [json.loads(line) for line in through([b"(EngineCore pid=3) WARN", b"ING: a\nplain\xff\r\n", b"last"], "stderr").splitlines()]
    assert [row["message"] for row in rows] == ["a", "plain\ufffd", "last"]
    assert (rows[0]["process"], rows[0]["level"]) == ("EngineCore pid=3", "WARNING")


def test_a_line_without_an_end_is_passed_on_in_parts() -> None:
    rows = through([b"x" * 65536] * 20, "stdout").splitlines()
    assert len(rows) == 2
    assert sum(len(json.loads(row)["message"]) for row in rows) == 65536 * 20
