"""A team's conventions reach every object: labels, annotations, the mirror of images, a proxy, certificates."""

from collections.abc import Iterator
from typing import Any

import pytest

from interlock.infra.errors import ConfigError
from interlock.infra.manifests.bundles import stack_objects
from interlock.infra.manifests.render import render
from interlock.infra.plan.plan import plan
from interlock.infra.preview import preview
from tests.support.build import TODAY, config

FETCH = {"model": "Qwen/Qwen2.5-7B-Instruct", "revision": "a09a35458c702b33eeacc393d103063234e8bc28"}
STACK = {
    "stores": [{"name": "weights", "prefetch": [FETCH]}],
    "servers[0].weights": "weights",
    "servers[0].replicas": 2,
    "platform": {"gpu_layer": {"kind": "device-plugin"}},
}
LABELS, NOTES = {"team": "search", "cost-center": "42"}, {"example.com/owner": "search@example.com"}


def objects(**conventions: Any) -> list[dict[str, Any]]:
    made = config({**STACK, "conventions": conventions})
    return render(made, plan(made, "prod"))


def pods(made: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each["spec"]["template"] for each in made if "template" in each.get("spec", {})}


def containers(template: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (*template["spec"].get("initContainers", ()), *template["spec"]["containers"])


def test_every_object_carries_the_labels_and_annotations_and_no_selector_does() -> None:
    made = objects(labels=LABELS, annotations=NOTES)
    assert {"Deployment", "Service", "PersistentVolumeClaim", "Job", "NetworkPolicy", "DaemonSet", "ConfigMap"} <= {
        each["kind"] for each in made
    }
    for each in made:
        assert each["metadata"]["labels"].items() >= LABELS.items(), each["kind"]
        assert each["metadata"]["annotations"].items() >= NOTES.items(), each["kind"]
    found = pods(made)
    assert found["Deployment"]["metadata"]["labels"].items() >= LABELS.items()
    assert not found["Job"]["metadata"]["labels"].keys() & LABELS.keys()  # a Job's pod can never be changed
    (deployment,) = (each for each in made if each["kind"] == "Deployment")
    assert not deployment["spec"]["selector"]["matchLabels"].keys() & LABELS.keys()


def test_every_image_comes_from_the_mirror_once() -> None:
    made = objects(registry="mirror.example.org/hub/")
    images = [each["image"] for template in pods(made).values() for each in containers(template)]
    assert len(images) >= 5
    assert all(each.startswith("mirror.example.org/hub/") and each.count("mirror.example.org") == 1 for each in images)


def test_engines_and_jobs_go_out_by_the_proxy_and_trust_the_companys_authorities() -> None:
    made = objects(proxy={"url": "http://proxy.example:3128"}, certificates={"config_map": "ca"})
    for kind, template in pods(made).items():
        if kind == "DaemonSet":
            continue
        assert {"name": "certificates", "configMap": {"name": "ca"}} in template["spec"]["volumes"]
        for each in containers(template):
            env = {row["name"]: row.get("value") for row in each["env"]}
            assert (env["HTTPS_PROXY"], env["no_proxy"]) == ("http://proxy.example:3128", ".svc,.cluster.local,localhost,127.0.0.1")
            assert env["SSL_CERT_FILE"] == env["AWS_CA_BUNDLE"] == "/etc/interlock/certificates/ca-certificates.crt"
            assert any(mount["mountPath"] == "/etc/interlock/certificates" for mount in each["volumeMounts"])
    opened = [port["port"] for each in made if each["kind"] == "NetworkPolicy" for rule in each["spec"]["egress"] for port in rule["ports"]]
    assert opened.count(3128) == 2  # of the server, and of the Job


def test_another_way_out_makes_another_job_and_labels_do_not() -> None:
    def name(**conventions: Any) -> str:
        return str(next(each["metadata"]["name"] for each in objects(**conventions) if each["kind"] == "Job"))

    assert name() == name(labels=LABELS) != name(registry="mirror.example.org")


def test_a_persons_own_value_stands_and_findings_name_the_convention() -> None:
    changes = {**STACK, "servers[0].extra": {"env": {"HTTPS_PROXY": "http://other:1"}}, "conventions": {"proxy": {"url": "http://p:1"}}}
    made = config(changes)
    (draft,) = (each for each in stack_objects(made, plan(made, "prod")).drafts if each.manifest["kind"] == "Deployment")
    env = draft.manifest["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [each["value"] for each in env if each["name"] == "HTTPS_PROXY"] == ["http://other:1"]
    at = next(at for at, each in enumerate(env) if each["name"] == "HTTP_PROXY")
    source = draft.source(f"spec.template.spec.containers[0].env[{at}].value")
    assert source is not None
    assert source.field == "conventions.proxy"
    assert preview(made, "prod", today=TODAY).refused == ()


@pytest.mark.parametrize("key", ["interlock.dev/pool", "app.kubernetes.io/managed-by"])
def test_a_key_of_ours_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="is written by this program"):
        config({"conventions": {"labels": {key: "x"}}})
