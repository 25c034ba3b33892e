"""Objects that this project made: which they are, and what they carry for the judgement."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.facts import DocumentProblem, Fact, Origin, Pool, Route, Workload
from interlock.infra.facts.carried import PLACE, carried, carried_pool, part
from interlock.infra.naming import MANAGED_BY, MANAGED_LABEL, label
from interlock.infra.paths import child_path
from interlock.infra.recognise.document import Node
from interlock.infra.recognise.supervised import after_supervisor


def is_ours(origin: Origin) -> bool:
    """Whether an object carries our labels: the manager's, and the stack's."""
    return origin.labels.get(MANAGED_LABEL) == MANAGED_BY and label("stack") in origin.labels


def with_carried(item: Any) -> Any:
    """A fact of an object, marked as ours and with what it carries; anybody else's as it is."""
    if not is_ours(item.origin):
        return item
    ours = replace(item, origin=replace(item.origin, ours=True))
    if isinstance(ours, Workload):
        return _workload(ours)
    return _route(ours) if isinstance(ours, Route) else ours


def engine_lost(origin: Origin, containers: Node) -> Iterator[DocumentProblem]:
    """The problem of an object of ours that was to run an engine and in which none is recognised any more."""
    if is_ours(origin) and "model" in carried(origin.annotations):
        text = "no container starts vLLM any more: the model that this object is for is not served"
        remedy = "keep the container engine with its command and image, and name containers so that they are merged and not replaced"
        commands = (_program(each) for each in containers.items() if each["command"])
        path = next(commands, containers).path
        yield DocumentProblem(replace(origin, ours=True), "engine-lost", text, path, remedy=remedy)


def _program(container: Node) -> Node:
    """Where a container says what it runs: under our supervisor, in its args."""
    supervised = after_supervisor([word.string() for word in container["command"].items()]) is not None
    return container["args"] if supervised and container["args"] else container["command"]


def pools_of(workloads: Iterable[Workload]) -> tuple[Pool, ...]:
    """The pools that our workloads carry, each once."""
    found: dict[str, Pool] = {}
    for workload in workloads:
        if not workload.origin.ours:
            continue
        data = _about(workload)[0].get("pool")
        source = replace(workload.origin, kind="Pool", name=str(workload.pool.value), path=f"{PLACE}.pool", form="carried")
        pool = carried_pool(data, source) if isinstance(data, Mapping) else None
        if pool is not None:
            found.setdefault(pool.name, pool)
    return tuple(found.values())


def _about(workload: Workload) -> tuple[Mapping[str, Any], str]:
    """(what an object carries about the server of a workload, where): a RayService tells it by the name of each model."""
    data = carried(workload.origin.annotations)
    servers = data.get("servers")
    if not isinstance(servers, dict) or not workload.ray or not workload.ray.deployments:
        return data, PLACE
    name = workload.ray.deployments[0].name
    found = servers.get(name)
    return (found if isinstance(found, dict) else {}), child_path(f"{PLACE}.servers", name)


def _workload(workload: Workload) -> Workload:
    data, base = _about(workload)
    model, place = data.get("model"), f"{base}.model"
    stated, version = part(model, "id", str, place), part(data, "vllm", str, base)
    given = workload.engine.model
    engine = replace(
        workload.engine,
        model=stated if stated.known else given,
        folder=given if stated.known and str(given.value).startswith("/") else Fact(),
        version=version if version.known else workload.engine.version,
        attention_heads=part(model, "attention_heads", int, place),
        kv_heads=part(model, "kv_heads", int, place),
        max_position=part(model, "max_position", int, place),
        weight_bytes=part(model, "weight_bytes", int, place),
        config=part(model, "config", dict, place).value,
        load_seconds=part(data, "load_seconds", (int, float), base),
        open=part(data, "open", bool, base),
        router=part(data, "router", str, base),
        production=part(data, "production", bool, base),
        longest_step=part(data, "longest_step_seconds", (int, float), base),
        least_load_seconds=part(data, "least_load_seconds", (int, float), base),
    )
    pool = part(data.get("pool"), "name", str, f"{base}.pool")
    scaled = workload.autoscaled or part(data, "autoscaled", bool, base).value is True
    return replace(
        workload, engine=engine, pool=pool, autoscaled=scaled, longest_answer=part(data, "longest_answer_seconds", (int, float), base)
    )


def _route(route: Route) -> Route:
    return replace(route, longest_answer=part(carried(route.origin.annotations), "longest_answer_seconds", (int, float), PLACE))
