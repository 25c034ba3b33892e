"""``preflight [--json]``: every look that the plan asks for. Exit 0: nothing found that is wrong; 2: a problem, or no valid plan."""

import json
import os
import sys
from collections.abc import Iterator

from interlock.runtime import spec, words
from interlock.runtime.preflight import cards, driver, gpus, hub, memory, model, plan, writable
from interlock.runtime.preflight.look import Result, Seen, World, problem, unseen


def looks(world: World) -> Iterator[Result]:
    """All results, in the order in which a person would want to know them. What the plan does not name is not looked at."""
    planned = world.plan
    yield writable.user(world)
    yield from writable.look(planned.get("writable", ()), world)
    if "gpus" in planned or "cuda" in planned:
        yield from _gpus(world)
    if "shm_mib" in planned:
        yield memory.shm(planned["shm_mib"], world)
    if "memory_mib" in planned:
        yield memory.host(planned["memory_mib"], world)
    if "model" in planned:
        yield from _model(world)


def _gpus(world: World) -> Iterator[Result]:
    try:
        machine = world.cards()
    except cards.UnseenError as error:
        for name, kind in (("gpus", "gpu-count"), ("cuda", driver.KIND)):
            if name in world.plan:
                yield unseen(kind, str(error))
        return
    if "cuda" in world.plan:
        yield driver.look(machine.driver, world.plan["cuda"], world)
    if "gpus" in world.plan:
        yield from gpus.look(machine, world.plan["gpus"])


def _model(world: World) -> Iterator[Result]:
    planned = world.plan["model"]
    at, local = model.folder(planned, world), str(planned["name"]).startswith("/")
    if hub.elsewhere(world) and not local:
        yield unseen(hub.HUB, f"{hub.MODELSCOPE} is set: the model comes from ModelScope, which is not asked")
    elif at is not None and (local or hub.offline(world)):
        yield from model.look(planned, at)
    elif hub.offline(world):
        yield problem(model.FILES, f"{planned['name']} is not in the hub's cache, and the hub may not be asked (HF_HUB_OFFLINE)")
    else:
        files = list(model.look(planned, at)) if at is not None else []
        cached = bool(files) and not any(each.seen is Seen.PROBLEM for each in files)  # what is missing, the engine fetches
        yield from files if cached else ()
        yield hub.look(planned, world, cached)


def report(results: list[Result], as_json: bool) -> str:
    """What is printed: one line per result, problems last, where logs are read first."""
    if as_json:
        rows = [{"kind": each.kind, "result": each.seen.value, "message": each.text} for each in results]
        return json.dumps({"problems": sum(each.seen is Seen.PROBLEM for each in results), "looks": rows})
    lines = sorted(results, key=lambda each: (Seen.FINE, Seen.UNSEEN, Seen.PROBLEM).index(each.seen))
    return "\n".join(f"{each.seen.value}: {each.kind}: {each.text}" for each in lines)


def summary(results: list[Result]) -> str:
    """One line for the termination message: the first problem, and how many more there are."""
    problems = [each for each in results if each.seen is Seen.PROBLEM]
    if not problems:
        return f"preflight: {len(results)} looks, no problem"
    more = f" (and {len(problems) - 1} more: {', '.join(sorted({each.kind for each in problems[1:]}))})" if len(problems) > 1 else ""
    return f"preflight: {problems[0].kind}: {problems[0].text}{more}"


def main(arguments: list[str], world: World | None = None) -> int:
    """Looks, reports, and leaves one line for `kubectl describe pod`."""
    path = words.TERMINATION_LOG
    try:
        given = spec.load(os.environ)
        path = given.termination_log
        plan.check(given.preflight)
    except words.RefusedError as error:
        words.say(str(error))
        words.leave(f"preflight: configuration: {error}", path)
        return 2
    results = list(looks(world or World(os.environ, cards.read, plan=given.preflight)))
    sys.stdout.write(report(results, "--json" in arguments or given.log == "json") + "\n")
    sys.stdout.flush()
    if trouble := words.leave(summary(results), path):
        words.say(trouble)
    return 2 if any(each.seen is Seen.PROBLEM for each in results) else 0
