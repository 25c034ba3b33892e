"""NetworkPolicies admit exactly what is planned: an evaluator of the policies over all pairs of rendered pods and of strangers."""

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.infra.config import load
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan

QWEN = {"id": "Qwen/Qwen2.5-7B-Instruct"}
POOL = {"name": "h100", "gpu": "h100-80gb-sxm", "nodes": 6, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"}
ROUTES: list[dict[str, Any] | None] = [
    None,
    {"host": "a.example", "gateway_namespace": "gateways"},
    {"host": "a.example", "kind": "ingress"},
    {"host": "a.example", "kind": "load-balancer"},
]
SERVERS = st.lists(
    st.fixed_dictionaries(
        {"route": st.sampled_from(ROUTES), "transfer": st.sampled_from([None, "prefill", "decode"]), "gpus": st.sampled_from([1, 16])}
    ),
    min_size=1,
    max_size=3,
)


@dataclass(frozen=True)
class End:
    """A pod, or an address outside."""

    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    address: str = ""


GATEWAY, NGINX = End("gateways", {"app": "envoy"}), End("ingress-nginx", {"app": "nginx"})
PROMETHEUS, COLLEAGUE, STRANGER, WORLD = End("monitoring"), End("ml", {"app": "shell"}), End("other"), End(address="203.0.113.7")
OTHERS = (GATEWAY, NGINX, PROMETHEUS, COLLEAGUE, STRANGER, WORLD)


def config(servers: list[dict[str, Any]]) -> ClusterConfig:
    made = []
    for at, each in enumerate(servers):
        size = {"gpus": each["gpus"], "engine": {"tensor_parallel_size": each["gpus"]}} if each["gpus"] > 8 else {}
        pair = {"transfer": {"role": each["transfer"]}} if each["transfer"] else {}
        route = {"route": {**each["route"], "host": f"s{at}.example"}, "access": {"open": "a test"}} if each["route"] else {}
        made.append({"name": f"s{at}", "model": QWEN, "pool": "h100", **size, **pair, **route})
    stores = [{"name": "w", "prefetch": [{"model": "a/b", "revision": "a" * 40}]}]
    return load({"target": {"local": "dev"}, "namespace": "ml", "pools": [POOL], "servers": made, "stores": stores})


def pods(objects: list[dict[str, Any]]) -> Iterator[End]:
    """Every pod that the objects make, one of each template."""
    for each in objects:
        spec = each.get("spec", {})
        group = spec.get("leaderWorkerTemplate", {})
        for template in (spec.get("template"), group.get("leaderTemplate"), group.get("workerTemplate")):
            if template and "containers" in template.get("spec", {}):
                yield End(each["metadata"]["namespace"], template["metadata"]["labels"])


def chosen(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def matches(peer: Mapping[str, Any], other: End, home: str) -> bool:
    """networking.k8s.io/v1 NetworkPolicyPeer."""
    if "ipBlock" in peer:
        return bool(other.address) and ipaddress.ip_address(other.address) in ipaddress.ip_network(peer["ipBlock"]["cidr"])
    if not other.namespace:
        return False
    spaces = peer.get("namespaceSelector")
    here = other.namespace == home if spaces is None else chosen(spaces, {"kubernetes.io/metadata.name": other.namespace})
    return here and chosen(peer.get("podSelector", {}), other.labels)


def side(policies: list[dict[str, Any]], pod: End, other: End, port: int, way: str) -> bool:
    """Whether the policies of ``pod`` let it talk on that side; a pod that no policy selects is not isolated."""
    kind, key = ("Ingress", "from") if way == "ingress" else ("Egress", "to")
    near = [each for each in policies if each["metadata"]["namespace"] == pod.namespace and kind in each["spec"]["policyTypes"]]
    own = [each for each in near if chosen(each["spec"]["podSelector"], pod.labels)]
    if not own:
        return True
    rules = [(rule, each["metadata"]["namespace"]) for each in own for rule in each["spec"].get(way, [])]
    return any(
        (key not in rule or any(matches(peer, other, home) for peer in rule[key]))
        and ("ports" not in rule or any(each["port"] == port and each["protocol"] == "TCP" for each in rule["ports"]))
        for rule, home in rules
    )


def passes(policies: list[dict[str, Any]], one: End, other: End, port: int) -> bool:
    asks = not one.namespace or side(policies, one, other, port, "egress")
    return asks and (not other.namespace or side(policies, other, one, port, "ingress"))


def planned(servers: Mapping[str, dict[str, Any]], one: End, other: End, port: int) -> bool:
    """The sentence of the documentation, without the policies: who may ask whom."""
    asked, asks = servers.get(other.labels.get("interlock.dev/server", "")), servers.get(one.labels.get("interlock.dev/server", ""))
    if asks and asked:
        same = asks is asked and asks["gpus"] > 8
        pair = {asks["transfer"], asked["transfer"]} == {"prefill", "decode"}
        # An engine may go to the hub's port anywhere, and an engine's own port is another.
        return same or pair
    if asked:
        route = (asked["route"] or {}).get("kind", "httproute" if asked["route"] else "")
        entries = {"httproute": (GATEWAY,), "ingress": (NGINX,), "load-balancer": (*OTHERS,), "": ()}[route]
        return port == 8000 and "interlock.dev/store" not in one.labels and one in (*entries, PROMETHEUS, COLLEAGUE)
    if "interlock.dev/store" in other.labels:
        return False
    if asks or "interlock.dev/store" in one.labels:
        return port in (53, 443)
    return True


@settings(max_examples=25, deadline=None)
@given(SERVERS)
def test_policies_admit_exactly_the_planned_flows(servers: list[dict[str, Any]]) -> None:
    made = config(servers)
    objects = render(made, plan(made, "prod"))
    policies = [each for each in objects if each["kind"] == "NetworkPolicy"]
    named = {f"s{at}": each for at, each in enumerate(servers)}
    ends = [*pods(objects), *OTHERS]
    for (one, other), port in product(product(ends, ends), (53, 443, 8000, 5600)):
        if one is not other or "interlock.dev/server" in one.labels:
            assert passes(policies, one, other, port) == planned(named, one, other, port), (one, other, port)


@settings(max_examples=25, deadline=None)
@given(SERVERS)
def test_every_selector_matches_its_own_pods_and_no_others(servers: list[dict[str, Any]]) -> None:
    made = config(servers)
    objects = [each for stack in ("a", "b") for each in render(made, plan(made, stack))]
    templates = list(pods(objects))
    for each in objects:
        if each["kind"] not in ("Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy"):
            continue
        stack, spec = each["metadata"]["labels"]["interlock.dev/stack"], each["spec"]
        selector = spec.get("podSelector") or spec["selector"]
        selector = selector if "matchLabels" in selector or each["kind"] != "Service" else {"matchLabels": selector}
        found = [pod for pod in templates if chosen(selector, pod.labels)]
        key = "interlock.dev/server" if "interlock.dev/server" in each["metadata"]["labels"] else "interlock.dev/store"
        own = each["metadata"]["labels"][key]
        assert found, each["metadata"]["name"]
        assert all(pod.labels["interlock.dev/stack"] == stack and pod.labels.get(key) == own for pod in found)
