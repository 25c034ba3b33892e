"""What our objects carry for whoever judges them without the config: the plan's facts about a server and its pool, as an annotation.

It stands on the Deployment and the route, not on the pods: a pool that gets a node, or a new prediction, restarts nothing.
"""

import math
from collections.abc import Mapping
from typing import Any

from interlock.infra.config.taints import taint
from interlock.infra.facts.carried import FACTS
from interlock.infra.manifests.placed import Encoded, put
from interlock.infra.plan.types import ClusterPlan, PlannedPool, PlannedServer
from interlock.infra.values import GIB

__all__ = ["FACTS", "pool_facts", "route_facts", "server_facts"]


def server_facts(plan: ClusterPlan, server: PlannedServer) -> Encoded:
    """The annotation of a server's Deployment."""
    model, router = server.config.model, server.config.transfer and server.config.transfer.router
    shape = {"attention_heads": server.attention_heads, "kv_heads": server.kv_heads}
    stated = {"attention_heads": model.attention_heads, "kv_heads": model.kv_heads}
    known = {name: value for name, value in shape.items() if value is not None}
    # Whoever judges asks the catalog for the rest, as the plan does: only what a person stated is carried.
    told = {
        **({"weight_bytes": put(int(model.weights_gib * GIB), "model.weights_gib")} if model.weights_gib else {}),
        **({"max_position": put(model.max_position, "model.max_position")} if model.max_position else {}),
        **({"config": put(dict(model.config), "model.config")} if isinstance(model.config, Mapping) else {}),
    }
    return Encoded(
        {
            "model": {
                "id": put(server.model_id, "model.id"),
                **{name: put(value, f"model.{name}" if stated[name] else "model.id", "model") for name, value in known.items()},
                **told,
            },
            **({"vllm": put(server.vllm, "image.reference", "image")} if server.vllm else {}),
            **({"router": put(router, "transfer.router")} if router else {}),
            **({"open": put(True, "access.open")} if server.config.access.open else {}),
            **({"autoscaled": put(True, "autoscale")} if server.config.autoscale else {}),
            **({"production": put(True, "production")} if plan.production else {}),
            "load_seconds": put(math.ceil(server.times.load), "startup_seconds", "startup"),
            "least_load_seconds": put(math.floor(server.start.cold.container.low), "startup_seconds", "startup"),
            **({"longest_step_seconds": put(math.ceil(server.times.step), "model", "step")} if server.supervised else {}),
            "longest_answer_seconds": put(server.times.longest_answer, "longest_answer_seconds"),
            "pool": pool_facts(plan.pool(server.pool)),
        }
    )


def route_facts(server: PlannedServer) -> Encoded:
    """The annotation of a server's route."""
    return Encoded({"longest_answer_seconds": put(server.times.longest_answer, "longest_answer_seconds")})


def pool_facts(pool: PlannedPool) -> dict[str, Any]:
    """What the pool offers, each part from its own field."""
    at = f"pools[{pool.index}]"
    domain = {"domain": put(pool.domain, f"{at}.domain.label"), "domain_nodes": put(pool.domain_nodes, f"{at}.domain.nodes")}
    return {
        "name": put(pool.name, "pool"),
        "gpu": put(pool.gpu, f"{at}.gpu"),
        "resource": put(pool.resource, f"{at}.share"),
        "nodes": put(pool.nodes, f"{at}.nodes"),
        "units_per_node": put(pool.units_per_node, f"{at}.gpus_per_node", "units"),
        "shares": put(pool.units_per_node // pool.cards_per_node, f"{at}.share", "units"),
        "sharing": put(pool.sharing, f"{at}.share.kind"),
        "cpu": put(pool.cpu, f"{at}.cpu"),
        "memory_bytes": put(pool.memory_bytes, f"{at}.memory"),
        **({"daemon_cpu": put(pool.daemon_cpu, f"{at}.daemon_cpu")} if pool.daemon_cpu is not None else {}),
        **({"daemon_memory_bytes": put(pool.daemon_memory_bytes, f"{at}.daemon_memory")} if pool.daemon_memory_bytes is not None else {}),
        "nvlink": put(pool.nvlink, f"{at}.nvlink", "nvlink"),
        **({"unit_memory_bytes": put(pool.unit_memory_bytes, f"{at}.gpu", "units")} if pool.unit_memory_bytes is not None else {}),
        "labels": put(dict(pool.selector), f"{at}.labels"),
        "taints": put([taint(text).key for text in pool.taints], f"{at}.taints"),
        **(domain if pool.domain else {}),
        **({"notice_seconds": put(pool.notice, f"{at}.notice_seconds")} if pool.notice is not None else {}),
    }
