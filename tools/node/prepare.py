"""Makes ready what a real node needs, so that the tests of the engine tier find it: packages, programs, environment, images."""

import contextlib

from tools import build, toolchain_families
from tools.common import ToolError
from tools.engine_env import env
from tools.images import store
from tools.node import needs

SETS = ["up", "node"]


def prepare() -> str:
    """Builds everything; returns why the machine cannot carry a node, or "" when it can and everything is ready.

    Raises ToolError when a build fails.
    """
    # What cannot be installed is listed below, with the other reasons.
    with contextlib.suppress(ToolError):
        needs.install()
    problems = needs.missing()
    if problems:
        return "; ".join(problems)
    store.ensure(build.ensure(toolchain_families.select([], SETS)))
    env.model(env.ensure(), "dense")
    return ""


def fetch() -> None:
    """Makes ready what is downloaded rather than compiled: it waits for the network and the disk while a compiler has the processors.

    What fails here is left to ``prepare``, which finds it undone and says so.
    """
    with contextlib.suppress(ToolError):
        needs.install()
        if not needs.missing():
            env.model(env.ensure(), "dense")
            store.base_root()


def unready() -> str:
    """Why no node can be started at once, without building anything: a missing requirement, or what is not built yet."""
    problems = needs.missing()
    if problems:
        return "; ".join(problems)
    wanted = toolchain_families.select([], SETS)
    programs = [decision.family.name for decision in build.decide(wanted) if decision.must_build]
    if programs:
        return f"not built: {', '.join(programs)} (python -m tools.build --for up --for node)"
    if not store.ready(build.ensure(wanted)):
        return "not built: the engine environment or the images (python -m tools.images)"
    return ""
