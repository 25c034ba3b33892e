"""From a case's input to facts: its manifest recognised like anybody's, with the pool, model and Ray layer that it states."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.facts import Bundle, Fact, Origin, Route, Workload, known
from interlock.infra.recognise import Document, recognise
from tools.cases.cluster import POOL, pool, ray_facts, ray_pods
from tools.cases.manifest import version_of
from tools.cases.model import model_engine
from tools.cases.objects import documents, lengths
from tools.cases.values import duration, first, mapping, number

LOADS = ("load_seconds", "load_s", "load_time_s", "startup_s", "startup_seconds", "model_load_s", "load_time", "ready_after_s")
IDLES = ("upstream_idle_s", "idle_timeout_s", "idle_s", "lb_idle_s", "idle_timeout")
SPOKEN = ("model", "vllm", "gpu", "k8s", "ray", "lora")


def bundle_of(case: Mapping[str, Any]) -> Bundle | None:
    """The facts of an input; None when it speaks of nothing that is known here."""
    if not any(mapping(case.get(key)) for key in SPOKEN):
        return None
    read = recognise([Document(document, "case", index) for index, document in enumerate(documents(case))])
    workloads = tuple(enriched(workload, case) for workload in read.workloads)
    routes = tuple(replace(route, longest_answer=_seconds(lengths(mapping(case.get("k8s"))))) for route in read.routes)
    closed = case.get("closed") is True
    return replace(read, workloads=workloads, pools=(pool(case), *read.pools), routes=(*routes, *plain_route(case)), closed=closed)


def _seconds(value: float | None) -> Fact[float]:
    return Fact() if value is None else known(value, "k8s")


def enriched(workload: Workload, case: Mapping[str, Any]) -> Workload:
    engine = model_engine(mapping(case.get("model")), workload.engine)
    rank = number(mapping(case.get("lora")).get("rank"))
    draft = number(mapping(mapping(mapping(case.get("vllm")).get("flags")).get("speculative")).get("draft_vocab"))
    load = duration(first(mapping(case.get("k8s")), *LOADS))
    version = version_of(case)
    engine = replace(
        engine,
        version=known(version, "vllm.version") if version else engine.version,
        load_seconds=known(load, "k8s.load_seconds") if load else engine.load_seconds,
        complete=engine.complete and "vllm" in case,
        lora_rank=known(int(rank), "lora.rank") if rank else engine.lora_rank,
        draft_vocabulary=known(int(draft), "vllm.flags.speculative.draft_vocab") if draft else engine.draft_vocabulary,
    )
    origin = replace(workload.origin, ours=case.get("ours") is True)
    changed = replace(workload, origin=origin, engine=engine, pool=known(POOL, "gpu"))
    return with_ray(changed, case) if mapping(case.get("ray")) else changed


def with_ray(workload: Workload, case: Mapping[str, Any]) -> Workload:
    facts = ray_facts(case)
    box = next(container for pod in workload.pods for container in pod.engines())
    engine = workload.engine
    if mapping(case.get("ray")).get("VLLM_HOST_IP"):
        engine = replace(engine, env={**engine.env, "VLLM_HOST_IP": known("10.0.0.1", "ray.VLLM_HOST_IP")})
    if mapping(case.get("ray")).get("token_on"):
        engine = replace(engine, env={name: fact for name, fact in engine.env.items() if name != "HF_TOKEN"})
    origin = Origin(kind=facts.kind, name="engine", namespace="models", file="case", form="ray-serve")
    adds = frozenset({"probes", "shm"})
    return replace(workload, origin=origin, engine=engine, ray=facts, pods=ray_pods(case, box), operator_adds=adds)


def plain_route(case: Mapping[str, Any]) -> tuple[Route, ...]:
    """A route of which only limits are stated."""
    k8s = mapping(case.get("k8s"))
    whole, idle = duration(k8s.get("route_timeout")), duration(first(k8s, *IDLES))
    policy = mapping(k8s.get("BackendTrafficPolicy"))
    each = duration(policy.get("perRetry"))
    if whole is None and idle is None and each is None:
        return ()
    name = str(k8s.get("service_name") or "engine")
    origin = Origin(kind="HTTPRoute", name="limits", namespace="models", file="case")
    return (
        Route(
            origin,
            known(name),
            read_timeout=_seconds(whole),
            per_try_timeout=_seconds(each),
            idle_timeout=_seconds(idle),
            longest_answer=_seconds(lengths(k8s)),
            kind="HTTPRoute",
        ),
    )
