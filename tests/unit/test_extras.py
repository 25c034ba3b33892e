"""Each extra resolves alone, at the proven versions, and those that cannot be together are refused together."""

import re
import shutil
import subprocess

import pytest

from interlock.infra.catalog.tracks import tracks
from tools.common import ROOT

uv = pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not on PATH")


def exported(*extras: str) -> "subprocess.CompletedProcess[str]":
    """The locked requirements of ``extras``; nothing is fetched."""
    chosen = [word for extra in extras for word in ("--extra", extra)]
    command = ["uv", "export", "--frozen", "--offline", "--no-default-groups", "--no-emit-project", "--no-hashes", *chosen]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def versions(extra: str) -> dict[str, str]:
    done = exported(extra)
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", done.stdout, re.MULTILINE))


@uv
def test_pulumis_extra_has_what_programs_use_and_no_engine() -> None:
    found = versions("pulumi")
    assert {"pulumi", "pulumi-kubernetes", "pulumi-random", "pulumi-policy", "kubernetes"} <= set(found)
    assert not {"vllm", "ray", "torch"} & set(found)


@uv
def test_the_engines_extra_is_vllm_at_the_version_of_the_deployment_track() -> None:
    assert versions("engine")["vllm"] == tracks()["deployment"].vllm


@uv
def test_rays_extra_is_ray_serve_without_an_engine() -> None:
    found = versions("ray")
    assert found["ray"] == "2.60.0"
    assert "vllm" not in found
    assert "starlette" in found, "ray[serve] and not ray alone"


@uv
@pytest.mark.parametrize("other", ["engine", "ray"])
def test_extras_of_two_environments_are_refused_together(other: str) -> None:
    done = exported("pulumi", other)
    assert done.returncode != 0
    assert "incompatible" in done.stderr


@uv
def test_the_lock_is_the_one_of_the_project() -> None:
    done = subprocess.run(["uv", "lock", "--check", "--offline"], cwd=ROOT, capture_output=True, text=True, check=False)
    if "offline" in done.stderr or "network" in done.stderr.lower():
        pytest.skip("uv's cache does not hold the metadata to check the lock by")
    assert done.returncode == 0, done.stderr
