"""The rule that tells a hang from idling, from a long prompt and from a slow client."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.runtime import board, page, probe
from interlock.runtime.silence import silence

SECOND = 10**9


def one(**fields: int) -> memoryview:
    """A page with one engine core for every ``beatN``; times in seconds."""
    words = memoryview(bytearray(board.SIZE)).cast("q")
    rows = sorted(int(name[4:]) for name in fields if name.startswith("beat"))
    for name, at in board.WORDS.items():
        words[at] = fields.get(name, 0) * (SECOND if name == "oldest" else 1)
    words[board.WORDS["rows"]] = len(rows)
    for number, engine in enumerate(rows):
        at = board.HEAD_WORDS + number * board.ROW_WORDS
        words[at] = engine
        words[at + 1] = fields[f"beat{engine}"] * SECOND
        words[at + 3] = fields.get(f"held{engine}", 0)
        words[at + 4] = fields.get(f"at{engine}", fields[f"beat{engine}"]) * SECOND
        words[at + 5] = fields.get(f"asleep{engine}", 0)
    return words


@pytest.mark.parametrize(
    ("pages", "late"),
    [
        pytest.param([], 0, id="nothing serves yet"),
        pytest.param([one(beat0=10)], 0, id="idle for long"),
        pytest.param([one(beat0=100, held0=3, heard=3)], 0, id="it stepped just now"),
        pytest.param([one(beat0=70, held0=3, heard=3)], 30, id="stopped in the middle of answers"),
        pytest.param([one(beat0=10, heard=1, pending=1, oldest=95)], 5, id="stopped while idle, then a request"),
        pytest.param([one(beat0=99, held0=9, heard=9, pending=9, oldest=10)], 1, id="a long queue before an engine that steps"),
        pytest.param([one(beat0=10, inflight=1)], 0, id="an upload that never ends"),
        pytest.param([one(beat0=10, inflight=1, heard=1)], 0, id="a client that does not read its answer"),
        pytest.param([one(beat0=10, held0=1, inflight=1)], 0, id="the last count is of a request that its client left"),
        pytest.param([one(beat0=10, asleep0=1, heard=1, pending=1, oldest=20)], 0, id="asleep"),
        pytest.param([one(heard=1, pending=1, oldest=20)], 0, id="no heartbeat at all cannot be judged"),
        pytest.param(
            [one(beat0=99, held0=2, heard=1, beat1=40, held1=2), one(beat0=98, beat1=99, held1=0, at1=30)],
            1,
            id="two servers, one core each",
        ),
        pytest.param([one(beat0=99, held0=2, heard=4, beat1=40, held1=2)], 60, id="one of two cores stopped in the middle of answers"),
        pytest.param([one(beat0=99, held0=1, heard=2, pending=2, oldest=50, beat1=10)], 50, id="one of two cores stopped while idle"),
        pytest.param(
            [one(beat0=99, held0=5, heard=3, pending=3, oldest=50, beat1=10)], 1, id="one of two cores idles, the other has a queue"
        ),
    ],
)
def test_silence(pages: list[memoryview], late: float) -> None:
    assert silence(pages, 100 * SECOND) == pytest.approx(late)


def test_pages_of_dead_processes_do_not_count_and_can_still_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    program = "from interlock.runtime import board, page; page.mine().words[board.WORDS['inflight']] = 7"
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ)
    assert board.pages(str(tmp_path)) == []
    assert board.total(board.pages(str(tmp_path), dead=True), "inflight") == 7


def test_a_truncated_page_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / f"page.{os.getpid()}").write_bytes(bytes(17))
    (tmp_path / "page.1").write_bytes(bytes(64))
    assert board.pages(str(tmp_path), dead=True) == []


def test_more_engine_cores_than_a_page_has_rows_are_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path))
    made = page.Page()
    assert [made.row(engine) for engine in range(board.MOST_ROWS + 1)][-1] == -1


@pytest.mark.parametrize("arguments", [[], ["x"], ["0"], ["-1"], ["nan"], ["inf"], ["1", "2"]])
def test_a_wrong_call_of_the_probe_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert probe.main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_board_that_cannot_be_read_kills_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERLOCK_BOARD", str(tmp_path / "none"))
    assert probe.main(["5"]) == 0
    assert "not looked at" in capsys.readouterr().err


def test_the_probe_imports_nothing_but_what_it_needs() -> None:
    program = "import sys; from interlock.runtime import probe; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert not {"json", "re", "typing", "mmap", "threading", "subprocess"} & set(done.stdout.split())
