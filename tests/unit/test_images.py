"""Image references: one reader for the plan, recognition and rules; what a tag says about the vLLM inside."""

import pytest

from interlock.infra.catalog.images import ImageReference, image_family, image_reference, vllm_version
from interlock.infra.config.load import load
from interlock.infra.preview import preview
from tests.support import TODAY

PARTS = [
    ("vllm/vllm-openai:v0.33.0", ImageReference("", "vllm/vllm-openai", "v0.33.0", "")),
    ("docker.io/vllm/vllm-openai@sha256:ab", ImageReference("docker.io", "vllm/vllm-openai", "", "sha256:ab")),
    ("registry.local:5000/vllm:v1@sha256:ab", ImageReference("registry.local:5000", "vllm", "v1", "sha256:ab")),
    ("localhost/vllm", ImageReference("localhost", "vllm", "", "")),
    ("host:5000", ImageReference("", "host", "5000", "")),
    ("", ImageReference("", "", "", "")),
]


@pytest.mark.parametrize(("text", "parts"), PARTS)
def test_a_reference_has_registry_repository_tag_and_digest(text: str, parts: ImageReference) -> None:
    assert image_reference(text) == parts


@pytest.mark.parametrize("text", ["vllm/vllm-openai:v1", "docker.io/vllm/vllm-openai:v1", "index.docker.io/vllm/vllm-openai:v1"])
def test_every_spelling_of_docker_hub_is_the_same_repository(text: str) -> None:
    assert image_reference(text).is_on_hub("vllm/vllm-openai")
    assert not image_reference("mirror.example.com/vllm/vllm-openai:v1").is_on_hub("vllm/vllm-openai")


KNOWN = [
    ("vllm/vllm-openai:v0.33.0", "0.33.0"),
    ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1"),
    ("vllm/vllm-openai:v0.33.0-cu129@sha256:ab", "0.33.0"),
    ("mirror.example.com:5000/hub/vllm/vllm-openai:v0.29.0", "0.29.0"),
    ("vllm/vllm-openai-rocm:v0.30.0", "0.30.0"),
    ("vllm/vllm-openai:v0.9", "0.9.0"),
    ("vllm/vllm-openai:v0.10.1rc1-x86_64", "0.10.1rc1"),
    ("ghcr.io/team/chat-vllm:cu129-vllm-v0.33.0", "0.33.0"),
    ("rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12_vllm_0.8.3", "0.8.3"),
    ("rayproject/ray-llm:2.60.0-py312-cu130", "0.29.0"),
    ("rayproject/ray-llm:2.58.0-py312-cu130", "0.26.0"),
    ("nvcr.io/nvidia/vllm:25.10-py3", "0.10.2"),
    ("mirror.example.com/nvidia/vllm:26.10-py3", "0.31.0"),
    ("public.ecr.aws/deep-learning-containers/vllm:0.11.0-gpu-py312", "0.11.0"),
]


@pytest.mark.parametrize(("text", "version"), KNOWN)
def test_a_tag_of_a_known_family_means_a_version(text: str, version: str) -> None:
    assert vllm_version(text) == version


UNKNOWN = [
    "rayproject/ray-llm:2.52.0-py312-cu128",  # an open range of vLLM versions
    "rayproject/ray-llm:2.99.0-py312",
    "nvcr.io/nvidia/vllm:26.11-py3",
    "registry.example.com/team/vllm:v0.33.0",
    "registry.example.com/team/chat:2026.11",
    "vllm/vllm-openai:latest",
    "vllm/vllm-openai:nightly-0123456789abcdef",
    "vllm/vllm-openai:v1.2.3",
    "vllm/vllm-openai@sha256:ab",
    "rayproject/ray:2.60.0",
    "lmsysorg/sglang:v0.5.0",
    "",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_any_other_tag_says_nothing_about_the_version(text: str) -> None:
    assert vllm_version(text) is None


def test_a_text_too_long_for_a_reference_is_of_no_family() -> None:
    assert not image_family("vllm/vllm-openai:" + "a" * 2000)


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ({"reference": "registry.example.com/team/own:7"}, ["servers[0].image.reference"]),
        ({"reference": "registry.example.com/team/own:7", "vllm": "0.33.0"}, []),
        ({"reference": "registry.example.com/team/own-vllm:vllm0.33.0-7"}, []),
        ({}, []),
    ],
)
def test_an_own_image_that_does_not_say_its_version_is_told_with_the_one_assumed(image: dict[str, str], told: list[str]) -> None:
    server = {"name": "s", "model": {"id": "Qwen/Qwen3-8B"}, "pool": "p", "image": image}
    pool = {"name": "p", "gpu": "h100", "nodes": 1, "gpus_per_node": 2}
    made = preview(load({"target": {"local": "d"}, "namespace": "n", "pools": [pool], "servers": [server]}), "dev", today=TODAY)
    assert [(each.code, each.severity.value, each.path) for each in made.findings] == [("VER-007", "info", path) for path in told]
    for finding in made.findings:
        assert "judged as 0.33.0" in finding.summary
        assert finding.remedy == "state the version as vllm beside this reference"
