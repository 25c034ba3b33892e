"""The cluster of a case: its node pool, and its Ray layer."""

import re
from collections.abc import Mapping
from typing import Any

from interlock.infra.catalog.gpus import gpu
from interlock.infra.facts import Container, Fact, Origin, Pod, Pool, RayFacts, Role, ServeDeployment, absent, known
from interlock.infra.values import GIB
from tools.cases.manifest import accelerators
from tools.cases.values import first, mapping, nothing, number, size

POOL = "pool"


def _card(text: str) -> Fact[str]:
    plain = text.split(" MIG", maxsplit=1)[0].split(" (", maxsplit=1)[0]
    for word in (plain, *plain.split("/")):
        found = gpu(word) or gpu(re.sub(r"(?i)rtx(\d)", r"rtx \1", word))
        if found:
            return known(found.name, "gpu.type")
    return absent("gpu.type")


def pool(case: Mapping[str, Any]) -> Pool:
    stated, k8s = mapping(case.get("gpu")), mapping(case.get("k8s"))
    text = str(stated.get("type") or "")
    card = _card(text)
    memory = number(stated.get("mem_gib"))
    words = re.search(r"(\d+)\s*GB", text)
    if memory is None and not card.known and words:
        memory = float(words.group(1)) * 0.98
    each, nodes = number(stated.get("per_node")), number(stated.get("nodes")) or number(k8s.get("nodes"))
    most = number(k8s.get("node_pool_max"))
    offered = number(k8s.get("node_allocatable_gpu"))
    if most is not None and each is None:
        each = number(k8s.get("nvidia.com/gpu")) or 1
    shares = number(k8s.get("time_slicing_replicas")) or number(k8s.get("tenants_on_gpu")) or (2 if k8s.get("gpu_shared") else None)
    sharing = "mig" if "MIG" in text else "time-slicing" if shares else str(k8s.get("vgpu") or "exclusive")
    return Pool(
        origin=Origin(kind="Pool", name=POOL, path="gpu"),
        name=POOL,
        gpu=card,
        resource=next(iter(accelerators(case, 1)), "nvidia.com/gpu"),
        gpus_per_node=_fact(offered if offered is not None else each * (shares or 1) if each else (shares or None), "gpu.per_node"),
        nodes=_fact(most or nodes or (1 if shares else None), "gpu.nodes"),
        max_nodes=_fact(most, "k8s.node_pool_max"),
        shares=_fact(shares, "k8s.time_slicing_replicas"),
        sharing=known(sharing, "k8s"),
        free=_fact(number(k8s.get("free_gpus")), "k8s.free_gpus"),
        gpu_memory=known(int(memory * GIB), "gpu.mem_gib") if memory else absent("gpu.mem_gib"),
        compute_capability=known(float(stated["cc"]), "gpu.cc") if number(stated.get("cc")) else absent("gpu.cc"),
        used_memory=known(int(float(stated["used_by_others_gib"]) * GIB)) if number(stated.get("used_by_others_gib")) else absent(),
        disk=known(size(f"{number(k8s.get('node_disk_gb')):g}G") or 0, "k8s.node_disk_gb") if number(k8s.get("node_disk_gb")) else absent(),
        nvlink=known(False, "gpu.type") if "pcie" in text.lower() else absent("gpu.type"),
        default_runtime=_runtime(k8s),
        driver=known(str(k8s["driver"]).strip("+"), "k8s.driver") if not nothing(k8s.get("driver")) else absent("k8s.driver"),
    )


def _fact(value: float | None, path: str) -> Fact[int]:
    return absent(path) if value is None else known(int(value), path)


def _runtime(k8s: Mapping[str, Any]) -> Fact[str]:
    if k8s.get("nvml_in_container") is False:
        return known("one without the driver's libraries", "k8s.nvml_in_container")
    # A distribution would only tell which runtime is the default.
    stated = first(k8s, "containerd_default", "runtime")
    if stated is not None:
        k8s.get("distribution")
    return absent("k8s.containerd_default") if nothing(stated) else known(str(stated), "k8s.containerd_default")


def ray_pods(case: Mapping[str, Any], engine: Container) -> tuple[Pod, ...]:
    """Head and workers: a head of its own where the case says what it has, else one of the nodes."""
    stated, nodes = mapping(case.get("ray")), mapping(case.get("gpu"))
    each = int(number(stated.get("gpus_per_worker")) or number(nodes.get("per_node")) or 1)
    total = number(stated.get("gpus_total"))
    of_ray = number(stated.get("nodes")) or (total / each if total else None)
    count = int(number(stated.get("workers")) or number(nodes.get("nodes")) or of_ray or 1)
    own = "head_gpus" in stated or "workers" in stated
    head_gpus = int(number(stated.get("head_gpus")) or 0) if own else each
    workers = count if own else max(count - 1, 0 if nodes else 1)
    env = dict(engine.env)
    if "driver" in str(stated.get("token_on") or "") or "head" in str(stated.get("token_on") or ""):
        env.pop("HF_TOKEN", None)
    pods = [
        _ray_pod(
            "head",
            int(number(stated.get("head_pods")) or 1),
            head_gpus,
            engine,
            dict(engine.env) | ({"HF_TOKEN": known("x")} if stated.get("token_on") else {}),
        )
    ]
    if workers > 0:
        pods.append(_ray_pod("worker", workers, each, engine, env))
    return tuple(pods)


def _ray_pod(role: str, count: int, gpus: int, engine: Container, env: Mapping[str, Fact[str]]) -> Pod:
    limits = {"nvidia.com/gpu": known(str(gpus), f"{role}.gpus")} if gpus else {}
    box = Container(role, Role.ENGINE, path=role, image=engine.image, limits=limits, env=env)
    return Pod(path=role, role=role, count=known(count, f"{role}.replicas"), containers=(box,))


def ray_facts(case: Mapping[str, Any]) -> RayFacts:
    stated = mapping(case.get("ray"))
    version = next((str(stated[name]) for name in ("cluster", "rayVersion", "ray", "version", "head") if stated.get(name)), "")
    python = str(stated.get("python_cluster") or stated.get("python") or "")
    address = stated.get("node_address")
    kind = str(stated.get("kind") or "RayCluster")
    return RayFacts(
        kind=kind,
        version=known(version, "ray.version") if version else absent("ray.version"),
        worker_versions=(known(str(stated["process"]), "ray.process"),) if stated.get("process") else (),
        python=known(python, "ray.python") if python else absent("ray.python"),
        worker_python=(known(str(stated["python_process"]), "ray.python"),) if stated.get("python_process") else (),
        gcs_fault_tolerance=known(bool(stated.get("gcs_ft", True)), "ray.gcs_ft"),
        start_params={"head": {"node-ip-address": known(str(address), "ray.node_address")}} if address else {},
        deployments=_deployments(stated, kind),
        upgrade=absent("ray.change") if "change" in stated or "upgrade" in stated else known("None", "ray.upgrade"),
        driver_on_head=known(stated.get("driver_on") == "head", "ray.driver_on"),
    )


def _deployments(stated: Mapping[str, Any], kind: str) -> tuple[ServeDeployment, ...]:
    actor = stated.get("serve_actor_num_gpus")
    gpus: Fact[float] = absent("ray.serve_actor_num_gpus")
    if actor is not None:
        value = number(actor)
        gpus = known(1.0 if value is None else value, "ray.serve_actor_num_gpus")
    strategy = known(str(stated["strategy"]), "ray.strategy") if stated.get("strategy") else absent("ray.strategy")
    grace = number(stated.get("graceful_shutdown_timeout_s"))
    served = kind == "RayService" or stated.get("api") or actor is not None or strategy.known
    made = ServeDeployment(
        "engine",
        "ray.serve",
        llm="openai_app" in str(stated.get("api") or ""),
        num_gpus=gpus,
        strategy=strategy,
        graceful_shutdown_timeout=known(grace or 600.0, "ray.graceful_shutdown_timeout_s"),
        target_ongoing_requests=known(number(stated.get("target_ongoing_requests")) or 1.0, "ray.target_ongoing_requests"),
        autoscaling=bool(stated.get("autoscaling")),
    )
    return (made,) if served else ()
