"""The gate's tables and the engine that pretends, held to the routes of the real vLLM."""

import json
from pathlib import Path

import pytest

from interlock.runtime.gate import routes
from tools.engine_env import env
from tools.runtime import fake_routes
from tools.runtime import routes as source

READ = json.loads((Path(__file__).parent.parent / "data" / "vllm_routes.json").read_text())
PINNED = "0.32.0"


def of(version: str) -> set[tuple[str, str]]:
    return {(each.split(" ")[0], each.split(" ")[1]) for each in READ[version]}


@pytest.mark.parametrize("version", READ)
def test_every_route_of_vllm_stands_in_one_table(version: str) -> None:
    listed = routes.OPEN | routes.READ | {("POST", path) for path in routes.ASKS}
    assert not {(method, path) for method, path in of(version) - listed if path not in routes.CLOSED}
    assert not {path for _, path in listed} & routes.CLOSED


def test_the_newest_vllm_has_every_route_that_tenants_may_use() -> None:
    served = of(max(READ))
    assert not {("POST", path) for path in routes.ASKS} - served
    assert served >= routes.OPEN | routes.READ


@pytest.mark.parametrize("version", READ)
def test_the_engine_that_pretends_has_no_route_of_its_own(version: str) -> None:
    assert of(version) >= fake_routes.ROUTES


def test_the_installed_vllm_has_the_routes_that_were_read() -> None:
    if not env.whole(env.folder()):
        pytest.skip("the engine environment is not built: python -m tools.engine_env")
    assert source.routes(env.site_packages(env.folder())) == of(PINNED)
