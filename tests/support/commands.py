"""Runs the ``interlock`` command inside the test's process, as a person would type it."""

import contextlib
import io
import sys
from dataclasses import dataclass
from unittest import mock

from interlock.cli.main import main


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Both streams, one after the other."""
        return self.stdout + self.stderr


def run(*words: str, text: str = "") -> Ran:
    """Runs ``interlock WORDS`` with ``text`` as its standard input."""
    out, err = io.StringIO(), io.StringIO()
    typed = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), typed:
        try:
            main(words)
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int)
    return Ran(code, out.getvalue(), err.getvalue())
