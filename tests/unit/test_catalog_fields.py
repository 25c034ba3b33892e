"""Tables of fields: custom resources, Ray's configuration, ray start."""

from interlock.infra.catalog import fields
from interlock.infra.catalog.tables import table

SCALARS = {"string", "integer", "boolean", "number", "any", "quantity", "intOrString"}


def test_every_type_that_a_custom_resource_names_is_there_or_kubernetes_own() -> None:
    own = table("k8s_fields.json")["types"]
    for name, row in fields.types().items():
        for kind in row["fields"].values():
            bare = kind.replace("[]", "").replace("map:", "")
            assert bare in SCALARS or bare in fields.types() or bare in own, (name, kind)
        assert {*row["required"], *row.get("enums", {}), *row.get("bounds", {})} <= set(row["fields"])


def test_custom_resources_have_their_pods_their_values_and_their_bounds() -> None:
    assert fields.resources()["leaderworkerset.x-k8s.io/v1/LeaderWorkerSet"].behind
    assert not fields.resources()["keda.sh/v1alpha1/ScaledObject"].behind
    template = fields.types()["LeaderWorkerSet.spec.leaderWorkerTemplate.workerTemplate"]
    assert template["fields"]["spec"] == "PodSpec"
    pool = fields.types()["InferencePool.spec"]
    assert pool["enums"]["appProtocol"] == ["http", "kubernetes.io/h2c"]
    assert fields.types()["InferencePool.spec.targetPorts"]["bounds"]["number"] == {"minimum": 1, "maximum": 65535}
    assert "rayClusterSpec" not in fields.types()["RayService.spec"]["fields"]
    assert "rayClusterConfig" in fields.types()["RayService.spec"]["fields"]


def test_rays_models_are_those_of_the_version_and_unsure_between_two_that_differ() -> None:
    new, old = fields.ray_model("LLMConfig", "2.60.0"), fields.ray_model("LLMConfig", "2.48.0")
    assert new is not None
    assert old is not None
    assert new.forbids_others
    assert "placement_group_config" in set(new.fields) - set(old.fields)
    assert new.required == ("model_loading_config",)
    assert fields.ray_model("LLMConfig", "2.55.0") is None
    assert fields.ray_model("LLMConfig", None) is None
    assert fields.ray_model("LLMConfig", "2.61.0") is None
    assert fields.ray_model("RayActorOptionsSchema", "2.61.0") is None


def test_ray_start_takes_whole_numbers_numbers_texts_and_switches() -> None:
    kinds = {name: fields.ray_start_option(name, "2.55.0") for name in ("num-cpus", "num-gpus", "memory", "block", "labels", "num_cpus")}
    assert kinds == {
        "num-cpus": "integer",
        "num-gpus": "integer",
        "memory": "integer",
        "block": "switch",
        "labels": "text",
        "num_cpus": None,
    }


def test_accelerators_have_rays_names() -> None:
    assert fields.ray_knows("accelerators", "H100")
    assert not fields.ray_knows("accelerators", "nvidia-h100")
    assert not fields.ray_knows("start", "num-gpu")
