"""Tenants in front of an engine: whether a route leads to one that asks for keys, and whether its classes do what they are named for."""

from collections.abc import Iterable

from interlock.infra.facts import Bundle, Place, Workload
from interlock.infra.facts.supervisor import KEYS, PRIORITY
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.net_routes import engines_behind, keyed
from interlock.infra.rules.reading.units import where
from interlock.infra.rules.rule import Hit, Settings, drop, put, rule


def classes(workload: Workload) -> list[str]:
    """Middleware that the engine loads, in its order."""
    return [str(each.value.value) for each in workload.engine.flags if each.name == "middleware"]


@rule(
    "SEC-012",
    Severity.INFO,
    ours=Severity.ERROR,
    demand="A route leads to an engine that asks for keys.",
    reason="Whoever reaches the route uses the GPUs, without a limit and without a name in any log.",
    source="vllm serve --api-key, --middleware (vLLM 0.33); the engine serves everybody by default",
    remedy="Name tenants, so that each has a key, or say that the server is open.",
    of="bundle",
)
def open_route(bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    for route in bundle.routes:
        for workload in engines_behind(route, bundle):
            if keyed(workload) or workload.engine.open.known:
                continue
            text = f"the route leads to {workload.origin.name}, which asks for no key"
            remedy = "give it VLLM_API_KEY from a Secret, or tenants (access.tenants); access.open: why, when the gateway asks"
            yield Hit("spec.rules", text, remedy, workload.origin.name, origin=route.origin)
            break


@rule(
    "SEC-013",
    Severity.ERROR,
    demand="Priorities are set for an engine that schedules by them.",
    reason="With fcfs vLLM takes requests as they came and ignores their priorities; some routes refuse a priority then.",
    source="vLLM 0.33 vllm/config/scheduler.py policy; vllm/entrypoints/openai/completion/protocol.py priority",
    remedy="Set --scheduling-policy priority, or leave the class out.",
)
def unheard_priority(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    policy = workload.engine.flag("scheduling-policy")
    if PRIORITY not in classes(workload) or not workload.engine.complete or policy.unknown:
        return
    if not policy.known or policy.get() != "priority":
        path = where(workload, Place.ARGS, policy)
        text = f"{PRIORITY} gives every request a priority, and the engine ignores it: --scheduling-policy is {policy.value or 'fcfs'}"
        fixes = put(path, "priority", flag="scheduling-policy")
        yield Hit(path, text, "set --scheduling-policy priority", str(policy.value or "fcfs"), fixes=fixes)


@rule(
    "SEC-014",
    Severity.ERROR,
    demand="An engine asks either for tenants' keys or for one key of its own.",
    reason="A request carries one key: a tenant's passes the first check and is refused by vLLM's own, with 401 for everybody.",
    source="vLLM 0.33 vllm/entrypoints/serve/middleware/authenticate.py; register.py puts --middleware outside of it",
    remedy="Remove VLLM_API_KEY and --api-key.",
)
def two_locks(workload: Workload, bundle: Bundle, settings: Settings) -> Iterable[Hit]:
    if KEYS not in classes(workload):
        return
    flag, own = workload.engine.flag("api-key"), workload.engine.env.get("VLLM_API_KEY")
    text = "tenants' keys are asked for, and then vLLM asks for its own key in the same header: nobody has both"
    if not flag.absent:
        yield Hit(where(workload, Place.ARGS, flag), text, "remove --api-key", "--api-key ***", fixes=drop(flag.path, flag="api-key"))
    if own is not None and own.value != "":  # vLLM takes an empty one for none
        yield Hit(own.path, text, "leave VLLM_API_KEY out of the container", "VLLM_API_KEY=***")
