"""Model stores: every kind's objects and mounts, prefetch Jobs, compile caches, what outlives a destroy."""

import re
from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.stores import FIELDS, Keep, StoreKind
from interlock.infra.errors import ConfigError
from interlock.infra.manifests.bundles import namespace_keep, store_bundle
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.plan.stores import cache_key

REVISION = "a" * 40
STORES: dict[str, dict[str, Any]] = {
    "claim": {"size": "200Gi", "storage_class": "shared", "filled": "a test"},
    "existing-claim": {"claim": "weights"},
    "host-path": {"path": "/data/models", "nodes": ["n1"]},
    "local": {"path": "/mnt/nvme", "nodes": ["n1", "n2.example"], "size": "500Gi"},
    "node-sync": {"path": "/mnt/nvme/models", "source": "origin"},
    "nfs": {"server": "10.0.0.9", "path": "/export/models"},
    "juicefs": {"secret": "juicefs"},
    "object-store": {"driver": "s3.csi.aws.com", "handle": "models", "attributes": {"bucketName": "models"}},
    "image": {"image": "registry.example/weights@sha256:" + "0" * 64},
    "bucket": {"url": "s3://models/prod", "region": "eu-central-1"},
}


def config(kind: str = "claim", *, server: dict[str, Any] | None = None, **fields: Any) -> ClusterConfig:
    more = fields.pop("more", {})
    stores = [{"name": "models", "kind": kind, **STORES[kind], **fields}]
    if kind == "node-sync":
        stores.append({"name": "origin", "kind": "nfs", **STORES["nfs"]})
    chat = {"name": "chat", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "h100", "weights": "models"} | (server or {})
    base = {"target": {"local": "dev"}, "namespace": "ml", "pools": [{"name": "h100", "gpu": "h100", "nodes": 2, "gpus_per_node": 8}]}
    return load(base | {"stores": stores, "servers": [chat]} | more)


def rendered(made: ClusterConfig) -> list[dict[str, Any]]:
    return render(made, plan(made, "dev"))


def of(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def pod(objects: list[dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = of(objects, "Deployment")[0]["spec"]["template"]["spec"]
    return spec


def weights_volume(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return next(each for each in pod(objects)["volumes"] if each["name"] == "weights")


def test_the_examples_here_cover_every_kind() -> None:
    assert set(STORES) == {kind.value for kind in StoreKind}


@pytest.mark.parametrize("kind", sorted(STORES.keys() - {"bucket"}))
def test_every_kind_is_mounted_read_only_where_the_engine_looks(kind: str) -> None:
    objects = rendered(config(kind))
    (mount,) = [each for each in pod(objects)["containers"][0]["volumeMounts"] if each["name"] == "weights"]
    assert mount == {"name": "weights", "mountPath": "/var/lib/interlock/models", "readOnly": True}
    assert pod(objects)["containers"][0]["args"][2] == "/var/lib/interlock/models/Qwen/Qwen2.5-7B-Instruct"


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("claim", {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}),
        ("existing-claim", {"persistentVolumeClaim": {"claimName": "weights", "readOnly": True}}),
        ("host-path", {"hostPath": {"path": "/data/models", "type": "Directory"}}),
        ("local", {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}),
        ("node-sync", {"hostPath": {"path": "/mnt/nvme/models", "type": "DirectoryOrCreate"}}),
        ("nfs", {"persistentVolumeClaim": {"claimName": "models", "readOnly": True}}),
        ("image", {"image": {"reference": STORES["image"]["image"], "pullPolicy": "IfNotPresent"}}),
    ],
)
def test_each_kind_has_its_own_volume_source(kind: str, source: dict[str, Any]) -> None:
    assert weights_volume(rendered(config(kind))) == {"name": "weights", **source}


def test_a_claim_asks_for_its_size_access_and_class() -> None:
    (claim,) = of(rendered(config("claim")), "PersistentVolumeClaim")
    assert claim["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "200Gi"}},
        "storageClassName": "shared",
    }


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("nfs", {"nfs": {"server": "10.0.0.9", "path": "/export/models"}}),
        (
            "juicefs",
            {
                "csi": {
                    "driver": "csi.juicefs.com",
                    "volumeHandle": "dev-models",
                    "fsType": "juicefs",
                    "nodePublishSecretRef": {"name": "juicefs", "namespace": "ml"},
                }
            },
        ),
        ("object-store", {"csi": {"driver": "s3.csi.aws.com", "volumeHandle": "models", "volumeAttributes": {"bucketName": "models"}}}),
    ],
)
def test_a_static_volume_and_its_claim_are_made_for_each_other_and_the_data_is_kept(kind: str, source: dict[str, Any]) -> None:
    objects = rendered(config(kind))
    volumes, claims = of(objects, "PersistentVolume"), of(objects, "PersistentVolumeClaim")
    spec, claim = volumes[0]["spec"], claims[0]["spec"]
    assert source.items() <= spec.items()
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["claimRef"] == {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "models", "namespace": "ml"}
    assert claim["volumeName"] == volumes[0]["metadata"]["name"] == "dev-models"
    assert claim["storageClassName"] == spec["storageClassName"] == ""
    assert claim["accessModes"] == spec["accessModes"]


def test_local_volumes_bind_when_a_pod_is_scheduled_and_stay_on_their_nodes() -> None:
    objects = rendered(config("local"))
    (named,) = of(objects, "StorageClass")
    assert (named["provisioner"], named["volumeBindingMode"]) == ("kubernetes.io/no-provisioner", "WaitForFirstConsumer")
    volumes = of(objects, "PersistentVolume")
    assert [each["metadata"]["name"] for each in volumes] == ["dev-models-n1", "dev-models-n2-example"]
    for volume, node in zip(volumes, ("n1", "n2.example"), strict=True):
        row = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
        assert row == {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        assert volume["spec"]["local"] == {"path": "/mnt/nvme"}
    assert of(objects, "PersistentVolumeClaim")[0]["spec"]["storageClassName"] == named["metadata"]["name"]


def test_pods_of_a_host_path_store_go_to_the_nodes_that_hold_the_folder() -> None:
    affinity = pod(rendered(config("host-path")))["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert affinity["nodeSelectorTerms"][0]["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]


def test_a_node_copies_the_model_before_the_engine_starts() -> None:
    made = pod(rendered(config("node-sync")))
    sync, preflight = made["initContainers"]
    assert preflight["name"] == "preflight"
    assert sync["args"] == ["sync", "--source", "/source/Qwen/Qwen2.5-7B-Instruct", "--target", "/target/Qwen/Qwen2.5-7B-Instruct"]
    assert sync["image"] == made["containers"][0]["image"]
    source = next(each for each in made["volumes"] if each["name"] == "weights-source")
    assert source["persistentVolumeClaim"] == {"claimName": "origin", "readOnly": True}


@pytest.mark.parametrize("kind", ["host-path", "node-sync"])
def test_folders_of_the_node_loosen_the_namespace_and_nothing_else_does(kind: str) -> None:
    level = "pod-security.kubernetes.io/enforce"
    assert of(rendered(config(kind)), "Namespace")[0]["metadata"]["labels"][level] == "privileged"
    assert of(rendered(config("local")), "Namespace")[0]["metadata"]["labels"][level] == "restricted"


PREFETCH = {"model": "Qwen/Qwen2.5-7B-Instruct", "revision": REVISION}


def test_a_model_is_fetched_by_one_job_into_a_folder_of_its_revision_and_served_from_there() -> None:
    objects = rendered(config(prefetch=[PREFETCH]))
    (job,) = of(objects, "Job")
    args = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--target") + 1] == f"/store/Qwen/Qwen2.5-7B-Instruct/{REVISION}"
    engine = pod(objects)["containers"][0]
    assert engine["args"][2] == f"/var/lib/interlock/models/Qwen/Qwen2.5-7B-Instruct/{REVISION}"
    assert "--revision" not in engine["args"]
    assert {"name": "HF_HUB_OFFLINE", "value": "1"} in engine["env"]


def test_a_job_has_one_writer_retries_what_can_be_helped_and_stops_at_what_cannot() -> None:
    (job,) = of(rendered(config(prefetch=[PREFETCH])), "Job")
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["podReplacementPolicy"]) == (1, 1, "Failed")
    assert spec["backoffLimit"] > 0
    assert spec["podFailurePolicy"]["rules"][0] == {
        "action": "FailJob",
        "onExitCodes": {"containerName": "weights", "operator": "In", "values": [2]},
    }
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_a_job_runs_once_per_revision() -> None:
    names = [
        of(rendered(config(prefetch=[PREFETCH | change])), "Job")[0]["metadata"]["name"] for change in ({}, {}, {"revision": "b" * 40})
    ]
    assert names[0] == names[1] != names[2]


def test_a_job_may_run_on_the_nodes_of_the_servers_that_use_the_store() -> None:
    (job,) = of(rendered(config(prefetch=[PREFETCH])), "Job")
    assert [each["key"] for each in job["spec"]["template"]["spec"]["tolerations"]] == ["nvidia.com/gpu"]


def test_a_host_path_store_is_filled_on_each_of_its_nodes() -> None:
    objects = rendered(config("host-path", nodes=["n1", "n2"], prefetch=[PREFETCH]))
    assert [job["spec"]["template"]["spec"]["nodeSelector"] for job in of(objects, "Job")] == [
        {"kubernetes.io/hostname": "n1"},
        {"kubernetes.io/hostname": "n2"},
    ]
    assert weights_volume(objects)["hostPath"]["type"] == "DirectoryOrCreate"


def test_the_runtime_is_there_once_for_all_jobs() -> None:
    objects = rendered(config(prefetch=[PREFETCH, PREFETCH | {"model": "Qwen/Qwen2.5-0.5B-Instruct"}]))
    maps = [each for each in of(objects, "ConfigMap") if "interlock-runtime.pyz" in each.get("binaryData", ())]
    assert len(maps) == 1
    assert maps[0]["immutable"] is True
    for job in of(objects, "Job"):
        assert maps[0]["metadata"]["name"] in str(job["spec"]["template"]["spec"]["volumes"])


def test_a_compile_cache_is_kept_by_image_gpu_model_and_tp() -> None:
    keys = {
        cache_key(*each)
        for each in (("a", "h100", "m", 1), ("b", "h100", "m", 1), ("a", "l4", "m", 1), ("a", "h100", "n", 1), ("a", "h100", "m", 2))
    }
    assert len(keys) == 5
    objects = rendered(config(server={"compile_cache": "models"}))
    (mount,) = [each for each in pod(objects)["containers"][0]["volumeMounts"] if each["name"] == "compile-cache"]
    assert mount["subPath"].startswith("compile-cache/")
    assert {"name": "VLLM_CACHE_ROOT", "value": mount["mountPath"]} in pod(objects)["containers"][0]["env"]
    volume = next(each for each in pod(objects)["volumes"] if each["name"] == "compile-cache")
    assert "readOnly" not in volume["persistentVolumeClaim"]


@pytest.mark.parametrize(
    ("production", "stated", "expected"),
    [(True, None, Keep.PROTECT), (False, None, Keep.DELETE), (True, "delete", Keep.DELETE), (False, "retain", Keep.RETAIN)],
)
def test_production_protects_volumes_and_the_namespace_around_them(production: bool, stated: str | None, expected: Keep) -> None:
    fields: dict[str, Any] = {} if stated is None else {"keep": stated}
    made = config(more={"production": production}, **fields)
    assert store_bundle(made, "dev", 0).keep is expected
    assert namespace_keep(made) is expected


def test_a_store_without_objects_of_ours_does_not_hold_the_namespace() -> None:
    assert namespace_keep(config("existing-claim", more={"production": True})) is Keep.DELETE


@pytest.mark.parametrize("kind", FIELDS)
def test_a_field_of_another_kind_is_refused_by_its_name(kind: StoreKind) -> None:
    required, allowed = FIELDS[kind]
    foreign = next(field for must, may in FIELDS.values() for field in must | may if field not in required | allowed)
    value: Any = {
        "nodes": ["n1"],
        "mount_options": ["ro"],
        "attributes": {"a": "b"},
        "path": "/x",
        "access": "ReadWriteOnce",
        "size": "1Gi",
    }
    with pytest.raises(ConfigError, match=foreign):
        config(kind.value, **{foreign: value.get(foreign, "x")})


@pytest.mark.parametrize(
    ("kind", "missing"),
    [("nfs", "server"), ("local", "nodes"), ("image", "image"), ("object-store", "driver"), ("existing-claim", "claim")],
)
def test_a_kind_without_what_it_needs_is_refused_by_that_field(kind: str, missing: str) -> None:
    fields = {key: value for key, value in STORES[kind].items() if key != missing}
    base = {"target": {"local": "dev"}, "namespace": "ml", "pools": [{"name": "h100", "gpu": "h100", "nodes": 2, "gpus_per_node": 8}]}
    with pytest.raises(ConfigError, match=f"needs.*{missing}"):
        load(base | {"stores": [{"name": "models", "kind": kind, **fields}]})


def test_a_store_that_nothing_writes_to_takes_no_prefetch() -> None:
    with pytest.raises(ConfigError, match="read only"):
        config("image", prefetch=[PREFETCH])


def test_a_branch_is_no_revision() -> None:
    with pytest.raises(ConfigError, match="revision"):
        config(prefetch=[PREFETCH | {"revision": "main"}])


def test_a_copy_of_a_store_that_is_on_single_nodes_is_refused() -> None:
    with pytest.raises(ConfigError, match="on single nodes itself"):
        config(
            "node-sync",
            source="disk",
            more={
                "stores": [
                    {"name": "models", "kind": "node-sync", "path": "/x", "source": "disk"},
                    {"name": "disk", "kind": "local", "path": "/mnt", "nodes": ["n1"]},
                ]
            },
        )


def prefetching(**entry: Any) -> ClusterConfig:
    return config(prefetch=[{"model": "Qwen/Qwen2.5-7B-Instruct", "revision": REVISION, **entry}])


def job(made: ClusterConfig) -> dict[str, Any]:
    spec: dict[str, Any] = of(rendered(made), "Job")[0]["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize(
    ("entry", "args"),
    [
        ({}, ["--endpoint", "https://huggingface.co"]),
        ({"endpoint": "https://hf-mirror.com"}, ["--endpoint", "https://hf-mirror.com"]),
        ({"source": "modelscope://Qwen/Qwen"}, ["--source", "modelscope://Qwen/Qwen", "--endpoint", "https://modelscope.cn"]),
        ({"source": "s3://models/q", "region": "eu-west-1", "revision": "v3"}, ["--source", "s3://models/q", "--region", "eu-west-1"]),
        ({"source": "gs://models/q"}, ["--source", "gs://models/q", "--endpoint", "https://storage.googleapis.com"]),
        (
            {"source": "oss://models/q", "endpoint": "https://oss-cn-hangzhou.aliyuncs.com"},
            ["--source", "oss://models/q", "--endpoint", "https://oss-cn-hangzhou.aliyuncs.com"],
        ),
    ],
)
def test_a_job_fetches_from_where_the_weights_are(entry: dict[str, Any], args: list[str]) -> None:
    assert job(prefetching(**entry))["containers"][0]["args"][1 : len(args) + 1] == args


def test_a_bucket_opens_to_the_keys_of_a_secret_or_to_a_service_account_that_the_stack_makes() -> None:
    (container,) = job(prefetching(source="s3://models/q", secret="bucket"))["containers"]
    keys = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container["env"]}
    assert keys == {name: {"name": "bucket", "key": name} for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/models"}
    fetched = {"model": "Qwen/Qwen2.5-7B-Instruct", "revision": "v1", "source": "s3://models/q", "service_account": "models"}
    made = config(
        prefetch=[fetched], more={"service_accounts": [{"name": "models", "annotations": role}]}, server={"service_account": "models"}
    )
    assert (job(made)["serviceAccountName"], pod(rendered(made))["serviceAccountName"]) == ("models", "models")
    (found,) = of(rendered(made), "ServiceAccount")
    assert (found["metadata"]["annotations"], found["automountServiceAccountToken"]) == (role, False)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"revision": "main"}, "'main' is not a commit of 7 to 40 hex digits: a branch would change under the servers"),
        ({"source": "oss://models/q"}, "endpoint is missing: OSS has one for each region"),
        ({"source": "s3://models/q", "token_secret": "hub"}, "a bucket takes secret or service_account"),
        ({"secret": "keys"}, "secret: for buckets only; the hub takes token_secret"),
        ({"source": "ftp://models/q"}, "stores[0].prefetch[0].source: 'ftp://models/q' is not an address such as s3://BUCKET/FOLDER"),
    ],
)
def test_a_source_that_cannot_be_is_refused(entry: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        prefetching(**entry)


def test_a_claim_that_nobody_fills_and_a_model_that_is_not_fetched_are_refused() -> None:
    with pytest.raises(ConfigError, match="weights: claim models is made empty, and nothing brings Qwen"):
        config(filled=None)
    fetched = {"model": "Qwen/Qwen2.5-7B-Instruct", "revision": REVISION}
    with pytest.raises(ConfigError, match="nothing brings Qwen/Qwen3-8B into it"):
        config(filled=None, prefetch=[fetched], server={"model": {"id": "Qwen/Qwen3-8B"}})
    with pytest.raises(ConfigError, match="state which one is served"):
        config(filled=None, prefetch=[{"model": "Qwen/Qwen2.5-7B-Instruct", "revision": each * 40} for each in "ab"])
    prefetching(source="s3://models/q")  # is filled


def test_ten_servers_of_one_model_and_revision_need_one_job() -> None:
    fetched = {"model": "Qwen/Qwen2.5-7B-Instruct", "revision": REVISION}
    more = [{"name": f"s{at}", "model": {"id": fetched["model"]}, "pool": "h100", "weights": "models"} for at in range(10)]
    objects = rendered(config(prefetch=[fetched], more={"servers": more}))
    assert len(of(objects, "Job")) == 1
    models = {each["spec"]["template"]["spec"]["containers"][0]["args"][2] for each in of(objects, "Deployment")}
    assert models == {f"/var/lib/interlock/models/Qwen/Qwen2.5-7B-Instruct/{REVISION}"}


def test_an_engine_streams_from_a_bucket_with_its_keys() -> None:
    made = rendered(config("bucket", endpoint="http://minio.storage:9000", secret="bucket"))
    (container,) = pod(made)["containers"]
    env = {each["name"]: each.get("value") for each in container["env"]}
    assert container["args"][2] == "s3://models/prod/Qwen/Qwen2.5-7B-Instruct"
    assert (env["AWS_ENDPOINT_URL"], env["AWS_REGION"], env["RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING"]) == (
        "http://minio.storage:9000",
        "eu-central-1",
        "0",
    )
    assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= env.keys()
    (policy,) = of(made, "NetworkPolicy")
    assert {"port": 9000, "protocol": "TCP"} in [port for rule in policy["spec"]["egress"] for port in rule["ports"]]


def test_what_must_be_mounted_is_no_bucket() -> None:
    with pytest.raises(ConfigError, match="compile_cache: 'models' is a bucket, which nothing writes to"):
        config("bucket", server={"compile_cache": "models"})
    copy = {"name": "copy", "kind": "node-sync", "path": "/m", "source": "models"}
    with pytest.raises(ConfigError, match=r"stores\[1\].source: 'models' is a bucket, of which no pod can copy"):
        config("bucket", more={"stores": [{"name": "models", "kind": "bucket", **STORES["bucket"]}, copy]})
