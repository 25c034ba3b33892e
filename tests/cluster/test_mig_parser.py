"""Our MIG files and geometry against NVIDIA's own code: mig-parted's parser and manager, and the simulated cards of go-nvml."""

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from interlock.infra.catalog.gpus import gpus, mig_geometries
from interlock.infra.catalog.placements import layout_problem, starts
from interlock.infra.config.pools import PoolConfig
from interlock.infra.manifests.mig import mig_config
from tools import build, toolchain_families


@pytest.fixture(scope="module")
def program() -> Path:
    """mig-check; skipped when it is not built."""
    wanted = toolchain_families.select([], ["mig"])
    if any(decision.must_build for decision in build.decide(wanted)):
        pytest.skip("not built: mig-check (python -m tools.build --for mig)")
    return build.ensure(wanted) / "mig-check"


def run(program: Path, command: str, spec: dict[str, Any] | None = None) -> tuple[int, Any, str]:
    given = json.dumps(spec) if spec else ""
    done = subprocess.run([str(program), command], input=given, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def every_pool() -> list[PoolConfig]:
    """A pool for every profile of every card, at its largest count and at one."""
    made = []
    for card in gpus():
        for profile in card.geometry.profiles if card.geometry else ():
            for count in {1, profile.max_count}:
                share = {"kind": "mig", "profile": profile.name, "per_card": count}
                made.append(PoolConfig.model_validate({"name": "p", "gpu": card.name, "nodes": 1, "gpus_per_node": 8, "share": share}))
    return made


def test_the_real_parser_reads_every_layout_that_we_write_as_we_mean_it(program: Path) -> None:
    spec = mig_config(every_pool())
    code, read, error = run(program, "spec", spec)
    assert code == 0, error
    assert read["version"] == "v1"
    assert {name: rows[0]["mig-devices"] or {} for name, rows in read["mig-configs"].items()} == {
        name: rows[0].get("mig-devices", {}) for name, rows in spec["mig-configs"].items()
    }


@pytest.mark.parametrize(
    "row",
    [
        {"devices": "all", "mig-enabled": True, "mig-devices": {"1g.10": 1}},
        {"devices": "some", "mig-enabled": True, "mig-devices": {"1g.10gb": 1}},
        {"devices": "all", "mig-enabled": True},
        {"devices": "all", "mig-enabled": False, "mig-devices": {"1g.10gb": 1}},
        {"devices": "all", "mig-enabled": True, "mig-device": {"1g.10gb": 1}},
    ],
)
def test_the_real_parser_refuses_what_is_wrong(program: Path, row: dict[str, Any]) -> None:
    code, _, error = run(program, "spec", {"version": "v1", "mig-configs": {"bad": [row]}})
    assert code == 1
    assert error


# The simulated cards of Hopper's and Blackwell's larger sizes state memory of their own, so names differ there; slices do not.
@pytest.mark.parametrize(
    ("card", "named"), [("a30", True), ("a100-40gb", True), ("a100-80gb", True), ("h100-80gb", True), ("h200", False), ("b200", False)]
)
def test_profiles_counts_and_placements_are_those_of_nvidias_simulated_cards(program: Path, card: str, named: bool) -> None:
    _, found, _ = run(program, "geometry")
    geometry = mig_geometries()[card]
    listed = {row["compute"]: row for row in found[card] if "+" not in row["name"]}
    # The profile with twice the memory of one slice is left out: go-nvml lists it with the places of the single one.
    ours = {profile.compute: profile for profile in geometry.profiles if not (profile.compute == 1 and profile.memory == 2)}
    assert ours.keys() == listed.keys()
    for compute, profile in ours.items():
        assert list(starts(geometry, profile)) == listed[compute]["starts"]
        assert profile.max_count == listed[compute]["count"]
        if named:
            assert profile.name == listed[compute]["name"]


def test_the_real_manager_sets_every_layout_of_one_card_that_we_allow_on_a_simulated_a100(program: Path) -> None:
    geometry = mig_geometries()["a100-40gb"]
    names = [profile.name for profile in geometry.profiles if profile.name != "1g.10gb"]
    allowed = {}
    for counts in product(range(8), range(4), range(3), range(2), range(2)):
        layout = {name: count for name, count in zip(names, counts, strict=True) if count}
        if layout and layout_problem(geometry, layout) is None:
            allowed["-".join(map(str, counts))] = layout
    assert len(allowed) > 20
    rows = {name: [{"devices": "all", "mig-enabled": True, "mig-devices": layout}] for name, layout in allowed.items()}
    code, made, error = run(program, "apply", {"version": "v1", "mig-configs": rows})
    assert code == 0, error
    assert made == allowed
