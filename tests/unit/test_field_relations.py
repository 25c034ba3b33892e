"""What an API server or an operator refuses of an object: each row's paths exist, what is wrong fires, what is right does not."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from interlock.infra.catalog.field_relations import FieldRelation, Said, field_refused, field_relations, said_at
from interlock.infra.catalog.fields import types
from interlock.infra.catalog.tables import table
from tests.support.fields import OWN, typed

ROOT = Path(__file__).parents[2]
COMPONENT = frozenset(
    {"model", "storageUris", "minReplicas", "maxReplicas", "containerConcurrency", "scaleMetric", "scaleTarget", "autoScaling"}
)
METRIC = frozenset({"type", "resource", "external", "podmetric"})
KSERVE = {
    "InferenceService": frozenset({"metadata", "spec"}),
    "Component": COMPONENT,
    "ScaledByHpa": COMPONENT,
    "ScaledByKnative": COMPONENT,
    "ScaledByKeda": COMPONENT,
    "MetricOfHpa": METRIC,
    "MetricOfKeda": METRIC,
    "StorageUri": frozenset({"uri", "mountPath"}),
}
"""Fields of KServe's types that rows read (pkg/apis/serving/v1beta1)."""
ROWS = {row.id: row for rows in field_relations().values() for row in rows}


def fired(name: str, value: Any) -> set[str]:
    return {found.relation.id for found in field_refused(name, value)}


def test_a_path_is_followed_through_mappings_lists_and_names_with_dots() -> None:
    data = {"a": {"b": 1, "c": None}, "l": [{"n": "x"}, {"m": 1}, {"n": "y"}], "k": {"x.y/z": 2}}
    assert said_at(data, "a.b") == Said(known=True, value=1)
    assert said_at(data, "a.c").absent
    assert said_at(data, "q.r").absent
    assert said_at(data, "l[].n") == Said(known=True, value=["x", "y"])
    assert said_at(data, "l[].q") == Said(known=True, value=[])
    assert said_at(data, "k[x.y/z]").value == 2
    assert said_at(data, "a.b.c") == Said(), "a number where a mapping belongs is told by the types"
    assert said_at({"a": "{{ x }}"}, "a", lambda value: "{{" not in str(value)) == Said()
    assert said_at({"a": "{{ x }}"}, "a.b", lambda value: "{{" not in str(value)) == Said()


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.id)
def test_every_path_begins_with_a_field_of_one_of_the_rows_types(row: FieldRelation) -> None:
    models = table("ray_fields.json")["models"]
    fields: set[str] = set()
    for name in row.types:
        if name.startswith("kserve:"):
            fields |= KSERVE[name.removeprefix("kserve:")]
        elif name.startswith("ray:"):
            fields |= {field for entry in models[name.removeprefix("ray:")] for field in entry["fields"]}
        else:
            fields |= set((OWN["types"].get(name) or types()[name])["fields"])
    assert {path.split("[")[0].split(".")[0] for path in {*row.names, row.at} - {""}} <= fields


WRONG: list[tuple[str, str, Any, Any]] = [
    ("route-path-not-absolute", "HTTPRoute.spec.rules.matches.path", {"value": "v1"}, {"type": "RegularExpression", "value": "v1"}),
    ("route-path-not-plain", "HTTPRoute.spec.rules.matches.path", {"type": "Exact", "value": "/a/../b"}, {"value": "/a/b..c/.d"}),
    ("route-path-not-plain", "HTTPRoute.spec.rules.matches.path", {"value": "/a%2Fb"}, {"value": "/a%20b"}),
    ("route-path-characters", "HTTPRoute.spec.rules.matches.path", {"value": "/a b"}, {"value": "/v1/a~b:c@d"}),
    ("route-path-type", "HTTPRoute.spec.rules.matches.path", {"type": "Prefix", "value": "/"}, {"type": "PathPrefix", "value": "/"}),
    ("route-filter-without-part", "HTTPRoute.spec.rules.filters", {"type": "URLRewrite"}, {"type": "URLRewrite", "urlRewrite": {}}),
    (
        "route-filter-of-two-types",
        "HTTPRoute.spec.rules.filters",
        {"type": "CORS", "cors": {}, "urlRewrite": {}},
        {"type": "CORS", "cors": {}},
    ),
    (
        "route-redirects-and-forwards",
        "HTTPRoute.spec.rules",
        {"backendRefs": [{"name": "a"}], "filters": [{"type": "RequestRedirect", "requestRedirect": {}}]},
        {"backendRefs": [{"name": "a"}], "filters": [{"type": "URLRewrite", "urlRewrite": {}}]},
    ),
    (
        "route-redirects-and-rewrites",
        "HTTPRoute.spec.rules",
        {"filters": [{"type": "RequestRedirect"}, {"type": "URLRewrite"}]},
        {"filters": [{"type": "URLRewrite"}]},
    ),
    (
        "route-backend-without-port",
        "HTTPRoute.spec.rules.backendRefs",
        {"name": "chat"},
        {"kind": "InferencePool", "group": "x", "name": "chat"},
    ),
    ("route-rule-names", "HTTPRoute.spec", {"rules": [{"name": "a"}, {"name": "a"}]}, {"rules": [{"name": "a"}, {"name": "b"}]}),
    ("recreate-with-steps", "DeploymentStrategy", {"type": "Recreate", "rollingUpdate": {}}, {"type": "Recreate"}),
    (
        "progress-before-ready",
        "DeploymentSpec",
        {"progressDeadlineSeconds": 60, "minReadySeconds": 60},
        {"progressDeadlineSeconds": 61, "minReadySeconds": 60},
    ),
    ("probe-without-handler", "Probe", {"periodSeconds": 5}, {"httpGet": {"port": 8000}}),
    ("probe-with-two-handlers", "Probe", {"httpGet": {}, "exec": {}}, {"exec": {}}),
    ("probe-port", "HTTPGetAction", {"port": "no_such"}, {"port": "http"}),
    ("port-name", "ContainerPort", {"name": "8000"}, {"name": "http-8000"}),
    ("volume-of-two-kinds", "Volume", {"emptyDir": {}, "persistentVolumeClaim": {}}, {"emptyDir": {}}),
    (
        "container-mounts-twice",
        "Container",
        {"volumeMounts": [{"mountPath": "/a"}, {"mountPath": "/a"}]},
        {"volumeMounts": [{"mountPath": "/a"}]},
    ),
    ("toleration-value", "Toleration", {"operator": "Exists", "value": "x"}, {"operator": "Exists"}),
    ("toleration-of-everything", "Toleration", {"operator": "Equal"}, {"operator": "Exists"}),
    ("claim-without-size", "PersistentVolumeClaimSpec", {"resources": {}}, {"resources": {"requests": {"storage": "1Gi"}}}),
    ("service-without-ports", "ServiceSpec", {"type": "ClusterIP"}, {"clusterIP": "None"}),
    ("budget-of-two-kinds", "PodDisruptionBudgetSpec", {"minAvailable": 1, "maxUnavailable": 1}, {"minAvailable": 1}),
    ("object-key", "ConfigMap", {"data": {"a b": ""}}, {"data": {"a_b.c-d": ""}}),
    (
        "restart-of-a-controller",
        "DeploymentSpec",
        {"template": {"spec": {"restartPolicy": "Never"}}},
        {"template": {"spec": {"restartPolicy": "Always"}}},
    ),
    (
        "ray-start-resources",
        "RayCluster.spec.headGroupSpec",
        {"resources": {"CPU": "1"}, "rayStartParams": {"num-cpus": "1"}},
        {"rayStartParams": {"num-cpus": "1"}},
    ),
    ("ray-service-name", "RayService", {"metadata": {"name": "x" * 48}}, {"metadata": {"name": "x" * 47}}),
    (
        "ray-token-too-old",
        "RayCluster.spec",
        {"rayVersion": "2.51.1", "authOptions": {"mode": "token"}},
        {"rayVersion": "2.52.0", "authOptions": {"mode": "token"}},
    ),
    (
        "scaled-object-idle",
        "ScaledObject.spec",
        {"idleReplicaCount": 1, "minReplicaCount": 1},
        {"idleReplicaCount": 0, "minReplicaCount": 1},
    ),
    (
        "formula-target",
        "ScaledObject.spec",
        {"advanced": {"scalingModifiers": {"target": "none"}}},
        {"advanced": {"scalingModifiers": {"target": "2.5"}}},
    ),
    (
        "subgroup-divides",
        "LeaderWorkerSet.spec.leaderWorkerTemplate",
        {"size": 8, "subGroupPolicy": {"subGroupSize": 3}},
        {"size": 9, "subGroupPolicy": {"subGroupSize": 4}},
    ),
    ("pool-ports-twice", "InferencePool.spec", {"targetPorts": [{"number": 1}, {"number": 1}]}, {"targetPorts": [{"number": 1}]}),
    ("pool-requirement-values", "NodePool.spec.template.spec.requirements", {"operator": "In", "values": []}, {"operator": "Exists"}),
    ("serve-import-path", "ray:ServeApplicationSchema", {"import_path": "app"}, {"import_path": "ray.serve.llm:build_openai_app"}),
    ("serve-import-path", "ray:ServeApplicationSchema", {"import_path": "a:b:c"}, {"import_path": "module.app"}),
    (
        "serve-replicas-and-scaler",
        "ray:DeploymentSchema",
        {"num_replicas": 2, "autoscaling_config": {}},
        {"num_replicas": "auto", "autoscaling_config": {}},
    ),
]


@pytest.mark.parametrize(("row", "name", "wrong", "right"), WRONG, ids=[f"{each[0]}-{number}" for number, each in enumerate(WRONG)])
def test_a_wrong_value_fires_its_row_and_its_neighbour_does_not(row: str, name: str, wrong: Any, right: Any) -> None:
    assert row in fired(name, wrong)
    assert row not in fired(name, right)


def test_an_incremental_upgrade_that_cannot_start_is_told_whole() -> None:
    options: dict[str, Any] = {"stepSizePercent": 50, "maxSurgePercent": 10, "intervalSeconds": 10}
    spec = {"upgradeStrategy": {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}, "rayClusterConfig": {}}
    assert fired("RayService.spec", spec) == {
        "incremental-upgrade-without-scaler",
        "incremental-upgrade-bounds",
        "incremental-upgrade-incomplete",
    }
    options |= {"maxSurgePercent": 100, "gatewayClassName": "istio"}
    assert not fired("RayService.spec", spec | {"rayClusterConfig": {"enableInTreeAutoscaling": True}})


DOCUMENTS = sorted(
    [
        *(ROOT / "tests" / "data" / "manifests").glob("*.yaml"),
        *(ROOT / "examples").rglob("*.yaml"),
        *(ROOT / "tests" / "golden").rglob("*.yaml"),
    ]
)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_row_fires_on_documents_that_are_applied(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text("utf-8")):
        for name, value in typed(document):
            assert not fired(name, value), (name, value)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 70000),
        st.floats(),
        st.text(max_size=4),
        st.sampled_from(["Recreate", "In", "token", "0%", "v2"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@given(st.data())
def test_any_value_in_any_field_ends_in_an_answer_and_a_template_adds_none(data: st.DataObject) -> None:
    row = ROWS[data.draw(st.sampled_from(sorted(ROWS)))]
    names = sorted({path.split("[")[0].split(".")[0] for path in row.names})
    value = {name: data.draw(VALUES, label=name) for name in names}
    before = fired(row.types[0], value)
    lost = data.draw(st.sampled_from(names))
    filled = value | {lost: "{{ x }}"}
    templated = {found.relation.id for found in field_refused(row.types[0], filled, lambda value: "{{" not in str(value))}
    assert templated <= before
