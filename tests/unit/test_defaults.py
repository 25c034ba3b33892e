"""What every server has is written once; what a server says itself stands."""

from typing import Any

import pytest

from interlock.infra.config import load
from interlock.infra.errors import ConfigError
from tests.support.build import config_data

MORE = {"name": "code", "model": {"id": "Qwen/Qwen3-8B"}}
DEFAULTS = {
    "pool": "h100",
    "hub_token_secret": "hub",
    "engine": {"max_num_seqs": 64, "max_model_len": 4096},
    "extra": {"env": {"TZ": "UTC"}},
    "route": {"gateway_namespace": "gateways", "tls_secret": "tls"},
}


def loaded(**changes: Any) -> Any:
    return load({**config_data({"servers[1]": MORE}), "defaults": DEFAULTS | changes})


def test_a_server_has_the_defaults_and_what_it_says_itself() -> None:
    chat, code = loaded().servers
    assert (code.pool, code.hub_token_secret, code.engine.max_model_len, code.extra.env) == ("h100", "hub", 4096, {"TZ": "UTC"})
    assert (chat.engine.max_model_len, chat.engine.max_num_seqs) == (8192, 64)


def test_a_default_route_gives_no_server_a_route_and_completes_those_that_have_one() -> None:
    assert all(each.route is None for each in loaded().servers)
    data = config_data({"servers[1]": {**MORE, "route": {"host": "code.example"}}})
    code = load({**data, "defaults": DEFAULTS}).servers[1]
    assert code.route is not None
    assert (code.route.host, code.route.tls_secret, code.route.gateway_namespace) == ("code.example", "tls", "gateways")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"pool": "l4"}, "servers[1].pool: 'l4' is not a pool of this stack"),
        ({"name": "x"}, "defaults.name: is each server's own"),
        ({"replcas": 2}, "defaults.replcas: is not a field of a server"),
        ({"replicas": "two"}, "defaults.replicas: 'two'"),
        ({"engine": {"max_model_lenn": 1}}, "defaults.engine.max_model_lenn"),
    ],
)
def test_a_fault_in_the_defaults_is_told_once_where_it_is_written(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(**changes)
    lines = str(caught.value).splitlines()
    assert [line for line in lines if line.startswith(text)] == lines


def test_defaults_that_are_no_mapping_are_refused() -> None:
    with pytest.raises(ConfigError, match="defaults: is not a mapping"):
        load({**config_data(), "defaults": ["pool"]})
