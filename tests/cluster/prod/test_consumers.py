"""Product teams read the prod stack's outputs by StackReference, in Python and in Pulumi YAML, and deploy with them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tools.cluster.testing import LocalCluster

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
SERVING = "organization/interlock/prod"


@pytest.fixture(scope="module", params=["consumer-python", "consumer-yaml"])
def consumer(request: pytest.FixtureRequest, prod: Any, make_project: Any) -> Any:
    project = make_project(EXAMPLES / request.param, f"{request.param}-dev")
    project.set_config("serving", SERVING)
    return project


def test_the_deployed_outputs_fit_the_published_schema(prod: Any) -> None:
    published = json.loads((ROOT / "docs" / "outputs.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(published).validate(prod.project.outputs()["interlock"])


def test_a_consumer_deploys_with_the_url_and_the_model_name(consumer: Any, prod_cluster: LocalCluster) -> None:
    outcome = consumer.up()
    assert outcome.code == 0, outcome.text
    assert consumer.outputs() == {"url": "http://chat.inference.svc.cluster.local/v1", "model": "chat"}
    (made,) = [each["outputs"]["metadata"]["name"] for each in consumer.resources() if each["type"] == "kubernetes:core/v1:ConfigMap"]
    settings = prod_cluster.get("configmap", made, "-n", "default")["data"]
    assert settings["OPENAI_BASE_URL"] == "http://chat.inference.svc.cluster.local/v1"
    assert settings["OPENAI_MODEL"] == "chat"


def test_a_model_that_is_not_there_is_a_clear_message_and_changes_nothing(prod: Any, make_project: Any, prod_cluster: LocalCluster) -> None:
    project = make_project(EXAMPLES / "consumer-python", "consumer-lost")
    project.set_config("serving", SERVING)
    project.set_config("server", "chart")
    before = {each["metadata"]["uid"] for each in prod_cluster.get("configmaps", "-n", "default")["items"]}
    outcome = project.up()
    assert outcome.code != 0
    said = "\n".join(outcome.diagnostics)
    assert "server: 'chart' is not served by organization/interlock/prod; it serves chat, code, embed, large" in said
    assert "Traceback" not in said
    assert {each["metadata"]["uid"] for each in prod_cluster.get("configmaps", "-n", "default")["items"]} == before


def test_no_secret_stands_in_the_outputs(prod: Any) -> None:
    outputs = prod.project.outputs()["interlock"]
    assert {name for each in outputs["servers"].values() for name in each["secrets"]} == {"tls"}
    assert "[secret]" not in json.dumps(outputs)
