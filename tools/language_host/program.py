"""Runs one Pulumi program inside the project's own Python: ``program.py SETTINGS PROGRAM [ARGUMENTS]``.

Exit code 32 says that the reason of a failure was shown already: the program's own RunError without a traceback, anything else with.
"""

import asyncio
import json
import os
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent import futures

import grpc
import pulumi

MESSAGE_ALREADY_SHOWN = 32


def end_with_parent(before: Callable[[], object] = lambda: None) -> None:
    """Ends this process within a second of its parent's end, which nobody tells it when the parent was killed; ``before`` runs first.

    ``INTERLOCK_PARENT`` is the parent's process id: it may be gone already when this is called.
    """
    parent = int(os.environ.get("INTERLOCK_PARENT") or os.getppid())

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        before()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run(settings: dict[str, object], program: str, arguments: list[str]) -> int:
    sys.argv = [program, *arguments]
    # In place of this file's own folder, which is none of the program's business.
    sys.path[0] = program if os.path.isdir(program) else os.path.dirname(program)
    pulumi.runtime.configure(pulumi.runtime.Settings(**settings))  # type: ignore[arg-type]
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    if settings["parallel"]:
        loop.set_default_executor(futures.ThreadPoolExecutor(max_workers=int(str(settings["parallel"])) * 4))
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: _run_path(program)))
    except KeyboardInterrupt:
        # The engine interrupts a program that still runs when the update has failed, and has shown the reason itself.
        return MESSAGE_ALREADY_SHOWN
    except Exception as error:
        return _report(error)
    return 0


def _run_path(program: str) -> None:
    runpy.run_path(program, run_name="__main__")


def _report(error: Exception) -> int:
    if not engine_has_stopped(error):
        own = next((link for link in chain(error) if isinstance(link, pulumi.RunError)), None)
        shown = str(own) if own else "Program failed with an unhandled exception:\n" + "".join(traceback.format_exception(error))
        pulumi.log.error(shown)
    return MESSAGE_ALREADY_SHOWN


def engine_has_stopped(error: BaseException) -> bool:
    """Whether ``error`` only says that the engine gave up: it has shown the reason, a failed resource, itself."""
    for link in chain(error):
        unavailable = isinstance(link, grpc.RpcError) and link.code() == grpc.StatusCode.UNAVAILABLE
        if unavailable or "resource monitor shut down" in str(link).lower() or "resource monitor has terminated" in str(link).lower():
            return True
    return False


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """``error`` and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


if __name__ == "__main__":
    end_with_parent()
    code = run(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the program, or of grpc, must not keep a finished program alive.
    os._exit(code)
