"""What charts read of their values: templates are followed through their actions, and a key that none of them reads is told."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from interlock.infra.catalog.charts import Below, chart, unread
from tests.support.checking import findings_of
from tools.common import ToolError
from tools.mechanisms.charts import Reader, told
from tools.mechanisms.charts import chart as read_chart

HELPERS = """
{{- define "image" -}}{{ .repository }}:{{ .tag }}{{- end }}
{{- define "of" -}}{{ .part.name }}{{ .context.Values.global }}{{- end }}
"""
TEMPLATE = """
{{- /* .Values.comment is not read */ -}}
{{- if .Values.enabled }}
name: {{ .Values.name | default "x.y" | quote }}
{{- range $at, $model := .Values.models }}
{{- with $model.resources }}
limits: {{ toYaml .limits | nindent 2 }}
cpu: {{ .cpu }}
{{- else }}
{{ fail "no .Values.words" }}
{{- end }}
image: {{ include "image" $model.image }}
{{- $args := $model.args }}
{{- range $args }}
- {{ . }}
{{- end }}
{{- if and (hasKey $model "old") (get $model "older") }}{{ $.Values.top }}{{ end }}
{{- include "of" (dict "part" $model.part "context" $) }}
{{- end }}
{{- end }}
"""


def test_templates_are_followed_through_loops_variables_and_named_templates() -> None:
    reads = Reader({"a.yaml": TEMPLATE, "_helpers.tpl": HELPERS}).read()
    paths = {told(path) for path in reads.paths}
    assert paths == {
        "enabled",
        "global",
        "models",
        "models[].args",
        "models[].args[]",
        "models[].image.repository",
        "models[].image.tag",
        "models[].old",
        "models[].older",
        "models[].part.name",
        "models[].resources",
        "models[].resources.cpu",
        "models[].resources.limits",
        "name",
        "top",
    } | ({"models[]"} & paths)
    assert "models[].resources.limits" in {told(path) for path in reads.whole}


def test_a_folder_without_a_chart_is_no_chart(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no chart"):
        read_chart(tmp_path)


def test_keys_that_nothing_reads_are_found_at_their_paths() -> None:
    below = Below({"a": Below({"b": Below(), "c": Below(whole=True)}), "many": Below({"[]": Below({"d": Below()})})})
    assert list(unread(below, {"a": {"b": {"x": 1}, "c": {"x": 1}, "z": 1}, "y": 1})) == [("a", "z"), ("y",)]
    assert list(unread(below, {"many": [{"d": 1}, {"e": 1}]})) == [("many", 1, "e")]
    assert list(unread(below, {"many": {"any": {"d": 1}, "other": {"e": 1}}})) == [("many", "other", "e")]
    assert list(unread(below, "text")) == []


def test_the_charts_that_are_read_are_known_with_version_and_source() -> None:
    assert chart("vllm-stack").version
    assert chart("vllm-stack").below.keys["servingEngineSpec"].keys["modelSpec"].keys["[]"].keys["vllmConfig"].keys["maxModelLen"]
    with pytest.raises(KeyError):
        chart("another")


ENTRY = {
    "name": "chat",
    "repository": "vllm/vllm-openai",
    "tag": "v0.33.0",
    "modelURL": "Qwen/Qwen3-8B",
    "replicaCount": 1,
    "requestGPU": 1,
    "vllmConfig": {"maxModelLen": 8192},
}
CONTAINER = {
    "name": "vllm",
    "image": "vllm/vllm-openai:v0.33.0",
    "modelCommand": "vllmServe",
    "resources": {"limits": {"nvidia.com/gpu": 1}},
    "startupProbe": {"httpGet": {"path": "/health", "port": 8000}, "failureThreshold": 60, "anything": 1},
}
SERVICE = {"modelArtifacts": {"uri": "hf://Qwen/Qwen3-8B", "size": "20Gi"}, "decode": {"create": True, "replicas": 1}}


@pytest.mark.parametrize(
    ("values", "path", "remedy"),
    [
        ({"servingEngineSpec": {"modelSpec": [{**ENTRY, "requestGpu": 2}]}}, "modelSpec[0].requestGpu", "write requestGPU"),
        (
            {"servingEngineSpec": {"modelSpec": [{**ENTRY, "lmcacheConfig": {"cpuOffloadBufferSize": "20"}}]}},
            "modelSpec[0].lmcacheConfig.cpuOffloadBufferSize",
            "write cpuOffloadingBufferSize",
        ),
        (
            {"servingEngineSpec": {"modelSpec": [{**ENTRY, "vllmConfig": {"pipelineParallelSize": 1}}]}},
            "modelSpec[0].vllmConfig.pipelineParallelSize",
            "put --pipeline-parallel-size into extraArgs",
        ),
        ({**SERVICE, "decode": {"create": True, "replica": 2, "containers": [CONTAINER]}}, "decode.replica", "write replicas"),
        (
            {**SERVICE, "decode": {"create": True, "containers": [{**CONTAINER, "mountModelVolum": True}]}},
            "decode.containers[0].mountModelVolum",
            "write mountModelVolume",
        ),
        ({"servingEngineSpec": {"modelSpec": [{**ENTRY, "labels": {"any": "key"}, "vllmConfig": {"v1": 1}}]}}, "", ""),
        ({**SERVICE, "decode": {"create": True, "containers": [CONTAINER]}, "common": {"x": 1}, "global": {"y": 1}}, "", ""),
    ],
)
def test_a_key_that_no_template_reads_is_told(values: dict[str, Any], path: str, remedy: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    found = [(each.path, each.remedy) for each in findings_of(file) if each.fault == "chart-key-dropped"]
    assert found == ([(f"{'servingEngineSpec.' if 'modelSpec' in path else ''}{path}", remedy)] if path else [])


def release(chart: str, version: str, **values: Any) -> dict[str, Any]:
    spec = {"chart": {"spec": {"chart": chart, "version": version}}, "values": values}
    return {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "kserve"}, "spec": spec}


@pytest.mark.parametrize(
    ("document", "keys"),
    [
        (
            release("kserve-resources", "v0.20.0", kserve={"controller": {"deploymentmode": "Standard"}}),
            ["kserve.controller.deploymentmode"],
        ),
        (release("oci://ghcr.io/kserve/charts/kserve-resources", "0.20.1", kserve={"typo": 1}), ["kserve.typo"]),
        (
            release("kserve-runtime-configs", "v0.20.0", kserve={"llmisvcConfigs": {"enabled": True}, "servingruntime": {"art": {"a": 1}}}),
            [],
        ),
        (
            release("kserve-resources", "v0.20.0", kserve={"controller": {"deploymentMode": "Standard"}, "localmodel": {"controller": {}}}),
            [],
        ),
        (release("kserve-resources", "v0.15.0", kserve={"controller": {"deploymentmode": "Standard"}}), []),
        (release("someones-chart", "v0.20.0", kserve={"controller": {"deploymentmode": "Standard"}}), []),
    ],
)
def test_keys_of_an_operators_chart_are_told_for_the_version_that_was_read(
    document: dict[str, Any], keys: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "release.yaml"
    file.write_text(yaml.safe_dump(document))
    assert [each.value for each in findings_of(file) if each.fault == "chart-key-dropped"] == keys


@pytest.mark.parametrize(("gpus", "told"), [(0.5, ["0.5"]), (1, []), (2, [])])
def test_a_share_of_a_gpu_in_a_stacks_values_asks_for_none(gpus: float, told: list[str], tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"servingEngineSpec": {"modelSpec": [{**ENTRY, "requestGPU": gpus}]}}))
    found = findings_of(file)
    assert [each.value for each in found if each.fault == "chart-key-dropped"] == told
    assert not [each.code for each in found if each.code in ("GPU-005", "GPU-007")]


def test_tests_of_a_chart_are_no_values(tmp_path: Path) -> None:
    file = tmp_path / "ray_test.yaml"
    values = {"servingEngineSpec": {"modelSpec": [{**ENTRY, "requestGPU": 0, "replicaCount": 0}]}}
    file.write_text(yaml.safe_dump({"suite": "ray", "tests": [{"it": "fails", "set": values, "asserts": [{"failedTemplate": {}}]}]}))
    assert {each.code for each in findings_of(file)} <= {"CHECK-000"}
