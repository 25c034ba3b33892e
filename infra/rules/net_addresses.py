"""Addresses and ports that an environment states: one address for several pods, and one port for two purposes."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Fact, Workload
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_services import engine_port, same_namespace, selects
from interlock.infra.rules.reading.units import engine_containers, pod_count
from interlock.infra.rules.rule import Hit, Settings, drop, rule
from interlock.infra.values import plural

_ENV = ("https://docs.vllm.ai/en/latest/configuration/env_vars/",)


@rule(
    "NET-012",
    Severity.ERROR,
    demand="Each pod of a group has an address of its own.",
    reason="All claim the same VLLM_HOST_IP: they wait for each other at an address where at most one of them is.",
    source="vllm/envs.py VLLM_HOST_IP; vLLM documentation, 'Parallelism and scaling' (a different address on each node)",
    remedy="Take it from the field status.podIP.",
    fault="host-ip-literal",
    links=_ENV,
)
def own_address(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    stated = [
        (fact, pod_count(pod).value or 1)
        for pod, container in engine_containers(workload)
        if (fact := container.env.get("VLLM_HOST_IP", Fact())).known and fact.get().strip() not in ("", "0.0.0.0", "::")
    ]
    for fact, _ in stated:
        pods = sum(each for other, each in stated if other.get() == fact.get())
        if pods > 1:
            text = f"VLLM_HOST_IP is {fact.get()} in {plural(pods, 'pod')} of the group"
            remedy = "take it from the pod: valueFrom.fieldRef.fieldPath status.podIP"
            yield Hit(fact.path, text, remedy, fact.get())


@rule(
    "NET-013",
    Severity.WARNING,
    demand="The engine's internal ports begin beside the port of its API, at a number.",
    reason="VLLM_PORT is where the ports between its processes begin, not the port of the API server; both want the same one.",
    source="vllm/envs.py VLLM_PORT, get_vllm_port; vLLM documentation, 'Environment Variables'",
    remedy="Remove VLLM_PORT, and set --port alone.",
    fault="internal-port",
    links=_ENV,
)
def internal_port(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    port = engine_port(workload)
    for _, container in engine_containers(workload):
        stated = container.env.get("VLLM_PORT", Fact())
        if stated.known and not stated.get().strip().isdecimal():
            text = f"VLLM_PORT is {stated.get()[:60]!r}, which is not a number: the engine stops with a ValueError when it asks for a port"
            remedy = "remove VLLM_PORT, or give it the number of the first internal port"
            yield Hit(stated.path, text, remedy, stated.get()[:60], severity=Severity.ERROR, fixes=drop(stated.path.removesuffix(".value")))
            continue
        if stated.known and port.known and stated.get().strip() == str(port.get()):
            text = f"VLLM_PORT is {stated.get()}, where the API server listens: it is the first of the internal ports"
            remedy = "remove VLLM_PORT (the API's port is --port), or give it another number"
            yield Hit(stated.path, text, remedy, stated.get(), fixes=drop(stated.path.removesuffix(".value")))


@rule(
    "NET-014",
    Severity.WARNING,
    demand="A router has the key of the engines that it finds.",
    reason="It asks each engine for its models without the key, gets 401, and serves no model although all pods are Ready.",
    source="vllm-project/production-stack src/vllm_router/service_discovery.py (Authorization from its own VLLM_API_KEY)",
    remedy="Give the router VLLM_API_KEY from the same Secret.",
    fault="router-without-key",
    of="bundle",
)
def router_key(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for router in bundle.routers:
        if router.keyed:
            continue
        for workload in bundle.workloads:
            near = workload.engine.name == "vllm" and same_namespace(router.origin.namespace, workload.origin.namespace)
            keyed = "VLLM_API_KEY" in workload.engine.env or workload.engine.flag("api-key").known
            if near and keyed and any(selects(router.selector, pod.labels) for pod in workload.pods):
                text = f"the router finds {workload.origin.name}, which asks for a key, and has no VLLM_API_KEY itself"
                remedy = "give the router VLLM_API_KEY from the Secret that the engine uses"
                yield Hit(router.path, text, remedy, origin=router.origin)
                break
