"""What tests build with is itself right: nothing to remark, and a change changes one place."""

import pytest

from interlock.infra.paths import at
from interlock.infra.preview import preview
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.judge import judge
from tests.support import TODAY, changed, config, config_data, deployment


def test_the_minimal_config_and_the_minimal_deployment_have_no_finding_above_info() -> None:
    found = (*preview(config(), "dev", today=TODAY).findings, *judge(recognise([Document(deployment())]), today=TODAY))
    assert [finding.text() for finding in found if finding.severity is not Severity.INFO] == []


@pytest.mark.parametrize(
    ("path", "value"), [("servers[0].gpus", 4), ("servers[1]", {"name": "b"}), ('pools[0].labels["a.b/c"]', "d"), ("a.b[0].c", 1)]
)
def test_a_change_sets_one_path_and_leaves_the_original_alone(path: str, value: object) -> None:
    data = config_data()
    assert at(changed(data, path, value), path) == value
    assert data == config_data()


def test_a_change_to_none_removes_the_key() -> None:
    assert "engine" not in changed(config_data(), "servers[0].engine", None)["servers"][0]
