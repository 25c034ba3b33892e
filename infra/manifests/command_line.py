"""The engine's command line, each word from the field of the config that it says."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from interlock.infra.engine.options import MANAGED, options
from interlock.infra.manifests.placed import put
from interlock.infra.plan.types import PlannedPods, PlannedServer, PodRole

# Arguments that are no field of the engine's own: (field, decision).
_ARGUMENTS = {
    "": ("model.id", "model_path"),
    "served-model-name": ("served_name", "served_name"),
    "revision": ("model.revision", "model_path"),
    "shutdown-timeout": ("rollout.drain_seconds", "drain"),
    "middleware": ("runtime", "runtime"),
    "port": ("engine", ""),
    **dict.fromkeys(("nnodes", "node-rank", "master-addr"), ("nodes", "layout")),
    **dict.fromkeys(("headless", "data-parallel-external-lb", "data-parallel-hybrid-lb"), ("balance", "layout")),
    "data-parallel-size-local": ("balance", "layout"),
    "api-server-count": ("engine.data_parallel_size", "api_servers"),
}


def arguments(server: PlannedServer, pods: PlannedPods) -> list[Any]:
    """The command line, each word from the field that it says; a person's own words last."""
    argv = server.args.to_argv(worker=pods.role is PodRole.WORKER)
    own = len(argv) - len(server.args.extra)
    typed = [put(word, *source) for word, source in zip(argv[:own], _sources(argv[:own]), strict=True)]
    return [*typed, *(put(word, f"extra.args[{at}]") for at, word in enumerate(argv[own:]))]


@cache
def _fields() -> Mapping[str, tuple[str, str]]:
    """(field, decision) by the flags that a person states under ``engine``."""
    return {name.replace("_", "-"): (f"engine.{name}", name) for name in options() if name not in MANAGED}


def _sources(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(field, decision) of each word: a flag, and the value behind it."""
    fields, source = _fields(), _ARGUMENTS[""]
    for word in words:
        name = word.removeprefix("--")
        if word.startswith("--"):
            source = next(place[each] for each in (name, name.removeprefix("no-")) for place in (_ARGUMENTS, fields) if each in place)
        yield source
