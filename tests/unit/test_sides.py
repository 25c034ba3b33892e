"""Contradictions between what the plan decided and what a person added: told at what was written, with a fix that removes them."""

from copy import deepcopy
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.render import render
from interlock.infra.paths import at
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from interlock.infra.rules.findings import Finding
from tests.support import TODAY, config_data
from tests.support.fixes import applied

S, GPU = "servers[0].", "nvidia.com/gpu"
ENGINE = S + "extra.pod_patch.containers[0]."
LIMIT = f'{ENGINE}resources.limits["{GPU}"]'


def found(data: dict[str, Any]) -> list[Finding]:
    return list(preview(load(deepcopy(data)), "dev", today=TODAY).findings)


def engine(**fields: Any) -> dict[str, Any]:
    return {S + "extra.pod_patch": {"containers": [{"name": "engine", **fields}]}}


def resources(limits: Any, requests: Any = None) -> dict[str, Any]:
    return engine(resources={"limits": limits, **({"requests": requests} if requests is not None else {})})


ARGS: dict[str, Any] = {"serve": ["vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"]}

NODES_OF_FOUR: dict[str, Any] = {
    "pools[0].gpus_per_node": 4,
    "pools[0].nodes": 4,
    S + "model": {"id": "Qwen/Qwen2.5-72B-Instruct"},
    S + "engine": {"max_model_len": 8192, "tensor_parallel_size": 4, "pipeline_parallel_size": 2},
}

TOLD: dict[str, tuple[dict[str, Any], str, str, str, str]] = {
    # changes, code, path, value, fix
    "ranks among the arguments": (
        {S + "extra.args": ["-tp", "4"]},
        "GPU-001",
        S + "extra.args[1]",
        "4",
        "state engine.tensor_parallel_size: 4 in place of -tp in extra.args",
    ),
    "ranks beside a number of GPUs": (
        {S + "extra.args": ["-tp", "4"], S + "gpus": 2},
        "GPU-001",
        S + "extra.args[1]",
        "4",
        "state engine.tensor_parallel_size: 4 in place of -tp in extra.args, and set gpus to 4, or lower the parallel sizes to 2",
    ),
    "stages among the arguments": (
        {S + "extra.args": ["--pipeline-parallel-size=2"]},
        "GPU-001",
        S + "extra.args[0]",
        "--pipeline-parallel-size=2",
        "state engine.pipeline_parallel_size: 2 in place of --pipeline-parallel-size in extra.args",
    ),
    "a limit of no GPU": (resources({GPU: 0}), "GPU-006", LIMIT, "0", f"remove {LIMIT.removeprefix(S)}"),
    "a limit that is taken away": (resources({GPU: None}), "GPU-006", LIMIT, "", f"remove {LIMIT.removeprefix(S)}"),
    "no GPU at all": (resources({GPU: 0}, {GPU: 0}), "GPU-007", LIMIT, "0", f"remove {LIMIT.removeprefix(S)}"),
    "resources that are taken away": (engine(resources=None), "GPU-007", ENGINE + "resources", "", f"remove {ENGINE[len(S) :]}resources"),
    "volumes that are taken away": (
        {S + "extra.pod_patch": {"volumes": None}},
        "DOC-002",
        S + "extra.pod_patch.volumes",
        "",
        "remove extra.pod_patch.volumes",
    ),
    "another port": ({S + "extra.args": ["--port", "9000"]}, "NET-002", S + "extra.args[1]", "9000", "remove --port from extra.args"),
    "a flag of one letter that nobody has": ({S + "extra.args": ["-a", "b=3"]}, "ARG-001", S + "extra.args[0]", "-a", "remove -a"),
    "arguments in place of the plan's": (
        engine(args=ARGS["serve"]),
        "ROLL-018",
        ENGINE + "args",
        "",
        "add --middleware interlock.runtime.front.Front",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_contradiction_is_told_where_a_person_wrote_it(name: str) -> None:
    changes, code, path, value, fix = TOLD[name]
    told = [(each.path, each.value, each.remedy) for each in found(config_data(changes)) if each.code == code]
    assert told == [(path, value, fix)]


@pytest.mark.parametrize("name", [name for name, told in TOLD.items() if told[1] != "ROLL-018"])
def test_its_changes_remove_it(name: str) -> None:
    changes, code, *_ = TOLD[name]
    data = config_data(changes)
    (finding,) = [each for each in found(data) if each.code == code]
    assert finding.fixes
    assert code not in [each.code for each in found(applied(data, finding.fixes))]


@pytest.mark.parametrize("memory", ["1Gi", "14Gi"])
def test_a_request_above_a_patched_limit_is_told_once_with_both_numbers(memory: str) -> None:
    (finding,) = [each for each in found(config_data(resources({"memory": memory}))) if each.code == "DOC-002"]
    assert (finding.path, finding.value) == (ENGINE + "resources.limits.memory", memory)
    assert finding.summary == f"the memory request 15Gi is above the limit {memory}"


def test_a_slice_that_the_pool_does_not_offer_is_refused() -> None:
    slices = {GPU: None, "nvidia.com/mig-1g.10gb": 1}
    codes = {each.code: each.path for each in found(config_data(resources(slices, slices)))}
    assert codes["GPU-025"] == f'{ENGINE}resources.limits["nvidia.com/mig-1g.10gb"]'


FREE = {"name": "big", "gpu": "b200", "nodes": 1, "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"}
FILLS = {"name": "code", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "big", "gpus": 1, "replicas": 8}
LARGE = {S + "model": {"id": "Qwen/Qwen2.5-72B-Instruct"}, S + "gpus": 1, "pools[1]": FREE}


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        (LARGE, "set pool to big, or set engine.tensor_parallel_size to 4 and gpus to 4"),
        (LARGE | {"servers[1]": FILLS}, "set engine.tensor_parallel_size to 4 and gpus to 4"),
        (LARGE | {S + "replicas": 9}, "set engine.tensor_parallel_size to 4 and gpus to 4"),
        (LARGE | {"pools[1].gpu": "l4"}, "set engine.tensor_parallel_size to 4 and gpus to 4"),
    ],
)
def test_a_model_that_does_not_fit_is_sent_to_the_stacks_own_free_pool_first(changes: dict[str, Any], first: str) -> None:
    (finding,) = [each for each in found(config_data(changes)) if each.code == "MEM-001"]
    assert finding.remedy.startswith(first)
    assert ("a pool of" in finding.remedy) is not finding.remedy.startswith("set pool")


CLAIM = {"stores": [{"name": "w", "size": "1Gi", "filled": "a test"}], S + "weights": "w"}
SECOND = {"name": "code", "model": {"id": "Qwen/Qwen2.5-14B-Instruct"}, "pool": "h100", "weights": "w"}


@pytest.mark.parametrize(
    ("changes", "least"),
    [
        (CLAIM, 18),
        (CLAIM | {"stores[0].size": "20Gi"}, 0),
        (CLAIM | {"stores[0].size": "40Gi", "servers[1]": SECOND}, 51),
        (CLAIM | {"stores[0].size": "42Gi", "servers[1]": SECOND}, 0),
        (CLAIM | {"servers[1]": {**SECOND, "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}}}, 18),  # the same files for both
        (CLAIM | {"stores[0].storage_class": "efs-sc"}, 0),
        (CLAIM | {"stores[0]": {"name": "w", "kind": "nfs", "server": "nfs", "path": "/m", "size": "1Gi"}}, 0),
        (CLAIM | {"stores[0]": {"name": "w", "kind": "local", "path": "/m", "nodes": ["n1", "n2"], "size": "1Gi"}}, 0),
        (CLAIM | {"stores[0]": {"name": "w", "kind": "existing-claim", "claim": "c"}}, 0),
    ],
)
def test_a_store_holds_the_checkpoints_that_are_read_from_it(changes: dict[str, Any], least: int) -> None:
    data = config_data(changes)
    told = [each for each in found(data) if each.code == "STO-004"]
    assert [(each.path, each.remedy) for each in told] == ([("stores[0].size", f"make it at least {least}Gi")] if least else [])
    if told:
        assert [each for each in found(applied(data, told[0].fixes)) if each.code == "STO-004"] == []


def test_a_quota_is_told_at_the_tenants_own_number_and_raised_there() -> None:
    data = config_data({"tenants": [{"name": "team-a", "gpus": {"h100": 1}}], S + "replicas": 3})
    (finding,) = [each for each in found(data) if each.code == "SCALE-008"]
    assert (finding.path, finding.value) == ("tenants[0].gpus.h100", "1")
    assert [each for each in found(applied(data, finding.fixes)) if each.code == "SCALE-008"] == []


def test_the_cards_of_a_container_beside_the_engine_are_counted_in_the_pool() -> None:
    side = {"name": "side", "image": "x/y:1", "resources": {"limits": {GPU: 2}}}
    data = config_data({S + "extra.pod_patch": {"containers": [side, {"name": "engine", "tty": True}]}, S + "replicas": 2})
    (pool,) = preview(load(data), "dev", today=TODAY).pools
    assert (pool.asked, [use.asked for use in pool.use]) == (6, [6, 0])


def test_a_number_of_cards_that_no_cluster_counts_is_not_counted() -> None:
    side = {"name": "side", "image": "x/y:1", "resources": {"limits": {GPU: "9" * 5000}}}
    (pool,) = preview(load(config_data({S + "extra.pod_patch": {"containers": [side]}})), "dev", today=TODAY).pools
    assert pool.asked == 1


@pytest.mark.parametrize(
    ("changes", "code", "path", "fix"),
    [
        # What is gone is given back, whatever the rule would add.
        (engine(startupProbe=None), "ROLL-001", ENGINE + "startupProbe", f"remove {ENGINE[len(S) :]}startupProbe"),
        (engine(volumeMounts=None), "ROLL-018", ENGINE + "volumeMounts", f"remove {ENGINE[len(S) :]}volumeMounts"),
        (engine(ports=[{"containerPort": 8000, "hostPort": 8000}]), "NET-003", ENGINE + "ports", f"remove {ENGINE[len(S) :]}ports"),
        (engine(image=None), "DOC-002", ENGINE + "image", f"remove {ENGINE[len(S) :]}image"),
        (engine(volumeMounts=None), "MEM-010", ENGINE + "volumeMounts", f"remove {ENGINE[len(S) :]}volumeMounts"),
        (
            {"pools[0].allocation": "claim", S + "extra.pod_patch": {"resourceClaims": None}},
            "DOC-002",
            S + "extra.pod_patch.resourceClaims",
            "remove extra.pod_patch.resourceClaims",
        ),
        (
            {**NODES_OF_FOUR, S + "extra.pod_patch": {"volumes": None}},
            "DOC-002",
            S + "extra.pod_patch.volumes",
            "remove extra.pod_patch.volumes",
        ),
        ({**NODES_OF_FOUR, **engine(args=ARGS["serve"])}, "GPU-001", ENGINE + "args", f"remove {ENGINE[len(S) :]}args"),
        # A field that the patch overrides mends nothing.
        (
            engine(env=[{"name": "INTERLOCK_RUNTIME", "value": "{}"}]),
            "ROLL-012",
            ENGINE + "env[0].value",
            f"remove {ENGINE[len(S) :]}env[0].value",
        ),
        # The patch's own number is the one to change.
        (
            {S + "extra.pod_patch": {"terminationGracePeriodSeconds": 5}},
            "ROLL-010",
            S + "extra.pod_patch.terminationGracePeriodSeconds",
            "set extra.pod_patch.terminationGracePeriodSeconds to at least 650",
        ),
        # Words of a person's own keep their names.
        (
            {S + "extra.args": ["--gpu-memory-utilization", "0.99"]},
            "MEM-005",
            S + "extra.args[1]",
            "set --gpu-memory-utilization to 0.98 or less",
        ),
        ({S + "extra.args": ["--max-model-length", "4096"]}, "ARG-001", S + "extra.args[0]", "write engine.max_model_len"),
        (engine(resource={}), "DOC-004", ENGINE + "resource", "write resources"),
        ({S + "runtime": {"hang_seconds": 10}}, "ROLL-020", S + "runtime.hang_seconds", "set runtime.hang_seconds to 116 or more"),
        (
            {S + "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, S + "engine.tensor_parallel_size": 16},
            "GPU-017",
            S + "engine.tensor_parallel_size",
            "set engine.tensor_parallel_size to 4 and use pipeline parallel over the nodes",
        ),
    ],
)
def test_a_fix_speaks_of_what_a_person_wrote_and_is_no_second_answer(changes: dict[str, Any], code: str, path: str, fix: str) -> None:
    (finding,) = [each for each in found(config_data(changes)) if each.code == code]
    assert (finding.path, finding.remedy) == (path, fix)


def test_what_the_planner_refuses_is_not_refused_a_second_time() -> None:
    data = config_data({S + "model": {"id": "google/gemma-2-9b-it"}, S + "engine.dtype": "float16", S + "hub_token_secret": "hub"})
    assert [each.code for each in found(data)] == ["ARG-019"]


def test_an_encoder_that_nobody_verified_is_warned_of_a_step_below_its_length() -> None:
    step = {S + "model": {"id": "answerdotai/ModernBERT-large"}, S + "engine.max_num_batched_tokens": 512}
    (finding,) = found(config_data(step))
    assert (finding.code, finding.severity.value) == ("ARG-015", "warning")
    assert found(config_data({**step, S + "engine.max_num_batched_tokens": 8192})) == []


def test_the_engines_own_default_is_remarked_and_not_warned_of() -> None:
    slices = {"name": "m", "gpu": "a100-80gb-sxm", "nodes": 1, "gpus_per_node": 2, "share": {"kind": "mig", "profile": "1g.10gb"}}
    small = {"pools[1]": slices, S + "pool": "m", S + "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}}
    levels = [
        {each.code: each.severity.value for each in found(config_data(small | more))}
        for more in ({}, {S + "engine.gpu_memory_utilization": 0.92})
    ]
    assert levels == [{"MEM-005": "info"}, {"MEM-005": "warning"}]


LIMITS = {"gpus": {"h100": 8}, "cpu": "8", "memory": "30Gi", "pods": 1, "storage": "100Gi"}


@pytest.mark.parametrize(
    ("tenant", "path", "fix"),
    [
        ({}, "", ""),
        ({"cpu": "3"}, "cpu", "raise the quota to 4, or ask for fewer replicas"),
        ({"memory": "14Gi"}, "memory", "raise the quota to 15Gi, or ask for fewer replicas"),
        ({"storage": "99Gi"}, "storage", "raise the quota to 100Gi, or make the claims smaller"),
    ],
)
def test_a_quota_covers_cpu_memory_and_claims(tenant: dict[str, Any], path: str, fix: str) -> None:
    data = config_data(
        {"tenants": [{"name": "team-a", **LIMITS, **tenant}], "stores": [{"name": "w", "filled": "a test"}], S + "weights": "w"}
    )
    told = [(each.path, each.remedy) for each in found(data) if each.code == "SCALE-008"]
    assert told == ([(f"tenants[0].{path}", fix)] if path else [])


def test_a_quota_of_pods_counts_replicas() -> None:
    data = config_data({"tenants": [{"name": "team-a", **LIMITS, "memory": "90Gi", "cpu": "32"}], S + "replicas": 2})
    assert [each.path for each in found(data) if each.code == "SCALE-008"] == ["tenants[0].pods"]


@pytest.mark.parametrize(("level", "made"), [(None, "restricted"), ("baseline", "baseline")])
def test_the_namespace_of_a_stack_has_the_level_of_its_tenant(level: str | None, made: str) -> None:
    tenant = {"name": "team-a", "gpus": {"h100": 8}} | ({"pod_security": level} if level else {})
    config = load(config_data({"tenants": [tenant]}))
    space = next(each for each in render(config, preview(config, "dev", today=TODAY)) if each["kind"] == "Namespace")
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == made


@pytest.mark.parametrize(("limit", "told"), [("1Gi", True), ("20Gi", False)])
def test_the_nodes_own_disk_counts_the_files_that_a_pod_downloads(limit: str, told: bool) -> None:
    data = config_data(resources({"ephemeral-storage": limit}, {"ephemeral-storage": "1Gi"}))
    assert [each.path for each in found(data) if each.code == "STO-004"] == [ENGINE + "resources.limits.ephemeral-storage"] * told


SLICED = {"name": "t", "gpu": "l4", "nodes": 1, "gpus_per_node": 1, "share": {"kind": "time-slicing", "replicas": 4}}
SMALL = {S + "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}}
CACHE = {"stores": [{"name": "c", "access": "ReadWriteOnce"}], S + "compile_cache": "c", S + "replicas": 3}


@pytest.mark.parametrize(
    ("changes", "code", "path", "fix"),
    [
        (
            SMALL | {"pools[1]": SLICED, S + "pool": "t", S + "engine.tensor_parallel_size": 2},
            "GPU-103",
            S + "engine.tensor_parallel_size",
            "ask for 1 share",
        ),
        (CACHE, "STO-001", S + "compile_cache", "set the store's access to ReadWriteMany"),
        ({S + "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"}}, "STO-006", S + "model.id", "set hub_token_secret to a Secret"),
        (
            {S + "model": {"id": "acme/x", "weights_gib": 10, "max_position": 4096}},
            "MEM-004",
            S + "engine.max_model_len",
            "set engine.max_model_len to 4096 or less",
        ),
        ({S + "memory": "26Gi", S + "shm": "40Gi"}, "MEM-011", S + "shm", "raise the memory limit above 40.0 GiB"),
        (
            {
                S + "memory": "26Gi",
                S + "extra.pod_patch": {"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "40Gi"}}]},
            },
            "MEM-011",
            S + "extra.pod_patch.volumes[0].emptyDir.sizeLimit",
            "raise the memory limit above 40.0 GiB",
        ),
        (
            {"pools[0].cpu": "8", "pools[0].gpus_per_node": 1, "pools[0].daemon_cpu": "5", S + "cpu": "4"},
            "GPU-004",
            S + "cpu",
            "ask for at most 3 cores per pod",
        ),
    ],
)
def test_what_is_written_beside_the_engine_is_named_by_its_field(changes: dict[str, Any], code: str, path: str, fix: str) -> None:
    (finding,) = [each for each in found(config_data(changes)) if each.code == code]
    assert finding.path == path
    assert finding.remedy.startswith(fix)


def test_a_profile_that_a_card_does_not_have_is_told_once() -> None:
    cut = {"name": "m", "gpu": "a100-80gb-sxm", "nodes": 1, "gpus_per_node": 2, "share": {"kind": "mig", "profile": "3g.99gb"}}
    assert [each.code for each in found(config_data(SMALL | {"pools[1]": cut, S + "pool": "m"}))] == ["GPU-104"]


FETCH = {"model": "Qwen/Qwen2.5-7B-Instruct", "revision": "a09a35458c702b33eeacc393d103063234e8bc28"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pools[0].daemon_cpu": "96"}, "pools[0]: daemon_cpu 96 leaves nothing of the node's cpu 96"),
        ({"pools[0].node_names": ["a", "a"]}, "pools[0]: node_names lists a twice"),
        (
            {"pools[0].node_names": ["a", "b"], "pools[1]": {**FREE, "node_names": ["b"]}},
            "pools[1].node_names[0]: 'b' is a node of pool h100",
        ),
        ({"stores": [{"name": "w", "access": "ReadOnlyMany", "prefetch": [FETCH]}]}, "access ReadOnlyMany forbids it"),
        (
            {"stores": [{"name": "w", "prefetch": [{**FETCH, "revision": "f" * 40}]}], S + "weights": "w"},
            "servers[0].model.revision: 'a09a35458c702b33eeacc393d103063234e8bc28' is not what store w fetches",
        ),
        ({"stores": [{"name": "w", "prefetch": [{**FETCH, "revision": "a09a3545"}]}], S + "weights": "w"}, "is not what store w fetches"),
        ({"stores": [{"name": "w", "prefetch": [FETCH]}], S + "weights": "w"}, ""),
        ({"pools[0].node_names": ["a", "b"], "pools[1]": {**FREE, "node_names": ["c"]}}, ""),
    ],
)
def test_a_config_that_cannot_be_carried_out_is_refused_when_it_is_read(changes: dict[str, Any], told: str) -> None:
    try:
        load(config_data(changes))
        said = ""
    except ConfigError as error:
        said = str(error)
    assert told in said if told else not said


@pytest.mark.parametrize(
    ("node", "asked"),
    [({"cpu": "4"}, "3500m"), ({"cpu": "8", "daemon_cpu": "5"}, "3"), ({"cpu": "96"}, "4"), ({"cpu": "4", "gpus_per_node": 4}, "875m")],
)
def test_the_plan_asks_for_no_more_cores_than_a_node_has_beside_its_daemons(node: dict[str, Any], asked: str) -> None:
    pool = {"gpus_per_node": 1, **node}
    data = config_data({f"pools[0].{name}": value for name, value in pool.items()})
    made = preview(load(data), "dev", today=TODAY)
    assert (made.servers[0].cpu, [each.code for each in made.findings]) == (asked, [])


@pytest.mark.parametrize(("memory", "asked", "codes"), [("15Gi", "14Gi", []), ("64Gi", "15Gi", []), ("9Gi", "15Gi", ["GPU-003"])])
def test_the_plan_reads_weights_through_less_memory_where_a_node_has_no_more(memory: str, asked: str, codes: list[str]) -> None:
    made = preview(load(config_data({"pools[0].memory": memory, "pools[0].gpus_per_node": 1})), "dev", today=TODAY)
    assert (made.servers[0].memory, [each.code for each in made.findings]) == (asked, codes)


def test_links_are_remarked_where_fewer_ranks_do_not_hold_the_model_and_warned_of_where_they_do() -> None:
    pool = {"name": "l4", "gpu": "l4", "nodes": 1, "gpus_per_node": 8, "cpu": "96", "memory": "512Gi"}
    data = {"pools[1]": pool, S + "pool": "l4", S + "engine.tensor_parallel_size": 8}
    for model, level in (("Qwen/Qwen2.5-72B-Instruct", "info"), ("Qwen/Qwen3-8B", "warning")):
        (finding,) = [each for each in found(config_data({**data, S + "model": {"id": model}})) if each.code == "GPU-016"]
        assert finding.severity.value == level


KARPENTER = {"node_class": "gpu", "instance_types": ["g6.xlarge"], "zones": ["a"], "idle_seconds": 60}
NODES = {"name": "l4", "gpu": "l4", "nodes": 3, "gpus_per_node": 1, "backend": "karpenter", "karpenter": KARPENTER, "labels": {"team": "x"}}
TENANT = {"name": "team-b", "gpus": {"l4": 2}, "cpu": "8", "gpus_per_container": 1}
PLATFORM = {
    "pools[1]": NODES,
    "pools[2]": {**SLICED, "labels": {}},
    "pools[3]": {"name": "m", "gpu": "a100-80gb-sxm", "nodes": 1, "gpus_per_node": 2, "share": {"kind": "mig", "profile": "1g.10gb"}},
    "platform": {"gpu_layer": {"kind": "device-plugin", "mig": "manager"}},
    "tenants": [TENANT],
}


@pytest.mark.parametrize(
    ("kind", "path", "field"),
    [
        ("NodePool", 'spec.limits["nvidia.com/gpu"]', "pools[1].nodes"),
        ("NodePool", "spec.template.spec.taints[0].key", "pools[1].taints[0]"),
        ("NodePool", "spec.template.spec.requirements[0].values[0]", "pools[1].karpenter.instance_types"),
        ("NodePool", "spec.template.metadata.labels.team", "pools[1].labels.team"),
        ("NodePool", "spec.disruption.consolidateAfter", "pools[1].karpenter.idle_seconds"),
        ("ResourceQuota", 'spec.hard["requests.nvidia.com/gpu"]', "tenants[0].gpus.l4"),
        ("ResourceQuota", 'spec.hard["requests.cpu"]', "tenants[0].cpu"),
        ("LimitRange", 'spec.limits[0].max["nvidia.com/gpu"]', "tenants[0].gpus_per_container"),
        ("ConfigMap", "data.time-slicing-4", "pools[2].share"),
        ("ConfigMap", 'data["config.yaml"]', "pools[3].share"),
    ],
)
def test_values_of_the_platforms_objects_come_from_the_field_that_says_them(kind: str, path: str, field: str) -> None:
    config = load(config_data(PLATFORM))
    drafts = stack_objects(config, plan(config, "dev")).drafts
    sources = [draft.source(path) for draft in drafts if draft.manifest["kind"] == kind and not _missing(draft.manifest, path)]
    assert [each.field for each in sources if each] == [field]


def _missing(manifest: dict[str, Any], path: str) -> bool:
    try:
        at(manifest, path)
    except LookupError:
        return True
    return False


def test_a_pool_of_gpu_nodes_without_a_taint_is_told_at_its_taints() -> None:
    told = {each.code: each.path for each in found(config_data({"pools[1]": {**NODES, "taints": []}}))}
    assert told["SCALE-011"] == "pools[1].taints"


@pytest.mark.parametrize(("stated", "gpus"), [({}, 2), ({"gpus": 4}, 4), ({"engine.tensor_parallel_size": 2}, 4)])
def test_ranks_that_share_a_prompt_are_counted_among_the_cards(stated: dict[str, Any], gpus: int) -> None:
    changes = {S + "engine.prefill_context_parallel_size": 2, **{S + name: value for name, value in stated.items()}}
    made = preview(load(config_data(changes)), "dev", today=TODAY)
    assert (made.servers[0].gpus, [each.code for each in made.findings if each.code == "GPU-001"]) == (gpus, [])


def test_one_argument_that_the_planner_refuses_is_told_once() -> None:
    engine = {"max_model_len": 8192, "tensor_parallel_size": 4, "decode_context_parallel_size": 3}
    assert [each.code for each in found(config_data({S + "engine": engine}))] == ["ARG-019"]


def test_a_card_on_which_nothing_may_be_left_is_told_once() -> None:
    told = [each.code for each in found(config_data({S + "engine.max_num_seqs": 100_000}))]
    assert [code for code in told if code in ("MEM-001", "MEM-003")] == ["MEM-001"]


def test_a_share_of_the_card_that_is_stated_too_low_is_the_first_to_be_raised() -> None:
    (finding,) = [each for each in found(config_data({S + "engine.gpu_memory_utilization": 0.1, S + "gpus": 1})) if each.code == "MEM-001"]
    assert finding.remedy.startswith("set engine.gpu_memory_utilization to 0.9, or ")


@pytest.mark.parametrize(("least", "fix"), [(1, "set autoscale.max_replicas to 4, or "), (5, "raise the quota to 8")])
def test_a_maximum_is_not_lowered_below_the_minimum(least: int, fix: str) -> None:
    scale = {"min_replicas": least, "max_replicas": 8}
    data = config_data({"tenants": [{"name": "team-a", "gpus": {"h100": 4}}], S + "autoscale": scale})
    (finding,) = [each for each in found(data) if each.code == "SCALE-017"]
    assert finding.remedy.startswith(fix)
    assert bool(finding.fixes) is (least == 1)
