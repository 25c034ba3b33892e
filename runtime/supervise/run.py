"""``run -- COMMAND``: the supervisor. Exit codes: 0 drained, 1 ended with requests in flight, 2 configuration,
3 the engine did not start, 4 the engine died, 5 the engine hung and was ended.

What is needed only while the engine runs is imported when it runs: its start waits for nothing else.
"""

import importlib
import os

from interlock.runtime import spec, words
from interlock.runtime.supervise import begin, command
from interlock.runtime.supervise.signals import signal

CONFIGURATION = 2


def main(arguments: list[str]) -> int:
    """Runs the engine until it ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, begin.SIGNALS)  # a signal that comes before the engine is kept for it
    asked = arguments[arguments.index("--") + 1 :] if "--" in arguments else arguments
    given = spec.Spec()
    try:
        given = spec.load(os.environ)
        if remark := command.checked(asked, given, os.environ):
            words.say(remark, given.log == "json")
        running = begin.begin(asked, given)
    except words.RefusedError as error:
        as_json = given.log == "json"
        trouble = words.leave(f"configuration: {error}", given.termination_log)
        for line in filter(None, (trouble, f"{error}; exit code {CONFIGURATION}")):
            words.say(line, as_json)
        return CONFIGURATION
    return int(importlib.import_module("interlock.runtime.supervise.watch").watch(running))
