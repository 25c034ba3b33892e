"""Every rule speaks of a mechanism: it fires on a second form of its example, and is silent on two neighbours of the remedied one."""

import json
from base64 import b64encode
from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest
import yaml

from interlock.cli.reading import load_text, read_paths
from interlock.infra.facts import Bundle
from interlock.infra.recognise import Document, recognise
from interlock.infra.rules.findings import Finding, Fix, Severity
from interlock.infra.rules.judge import judge
from tests.support import TODAY
from tests.support.fixes import applied
from tests.support.forms import case_forms, forms
from tools.cases.facts import bundle_of
from tools.findings.examples import Example, examples

EXAMPLES = examples()


def changed(code: str, which: str, *changes: tuple[str, str]) -> str:
    """An example's text with parts of it replaced."""
    text: str = getattr(EXAMPLES[code], which)
    for old, new in changes:
        assert old in text, f"{code}: {old}"
        text = text.replace(old, new)
    return text


INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ray, namespace: models}
spec:
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: head, port: {number: 8265}}}}]}}]
"""

COMMAND = "    command:\n    - vllm\n    - serve\n    - Qwen/Qwen2.5-7B-Instruct\n    args:\n    - --max-model-len=16384\n"
SCRIPTED = changed("ROLL-007", "bad", (COMMAND, "    command: [sh, -c, exec vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len=16384]\n"))
MAP = ("kind: Secret", "kind: ConfigMap"), ("stringData", "data")
TOKEN, GIVEN = "hf_aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xYz2", "<your-token>"

OTHERS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "DOC-001": (("a: [1, 2", "a: b: c", "kind: Deployment\n\tspec: {}"), ("a: [1, 2]", "a: 'b: c'")),
    "DOC-003": (
        (changed("DOC-003", "bad", ("kind: Deployment", "kind: StatefulSet")),),
        (changed("DOC-003", "good", ("kind: Deployment", "kind: StatefulSet")), "a: 1\nb: {a: 1}"),
    ),
    "DOC-008": (
        (changed("DOC-008", "bad", ("'applications: ['", "'a: b: c'")), changed("DOC-008", "bad", ("'applications: ['", "'no mapping'"))),
        (changed("DOC-008", "good", ("name: chat", "name: other")), changed("DOC-008", "bad", ("'applications: ['", "'applications: []'"))),
    ),
    "NET-011": (
        (INGRESS, changed("NET-011", "bad", ("LoadBalancer", "NodePort"))),
        (changed("NET-011", "bad", ("8265", "8000")), INGRESS.replace("8265", "8000")),
    ),
    "ROLL-003": (
        (changed("ROLL-003", "bad", ('"RollingUpdate"', '{"type": "RollingUpdate", "maxSurge": 1, "maxUnavailable": 0}')),),
        (
            changed("ROLL-003", "bad", ('"free_gpus": 0', '"free_gpus": 1')),
            changed("ROLL-003", "bad", ('"RollingUpdate"', '{"maxSurge": 0, "maxUnavailable": 1}')),
        ),
    ),
    "ROLL-007": (
        (SCRIPTED,),
        (changed("ROLL-007", "good", ("name: chat", "name: other")), changed("ROLL-007", "good", ("replicas: 1", "replicas: 2"))),
    ),
    "SEC-003": (
        (changed("SEC-003", "bad", *MAP), changed("SEC-003", "bad", ("stringData", "data"), (TOKEN, b64encode(TOKEN.encode()).decode()))),
        (changed("SEC-003", "bad", (TOKEN, "EMPTY")), changed("SEC-003", "bad", ("token: " + TOKEN, "host: " + TOKEN[3:].lower()))),
    ),
    "SEC-004": (
        (changed("SEC-004", "bad", (GIVEN, "CHANGEME")), changed("SEC-004", "bad", (GIVEN, "hf_xxxxxxxxxxxxxxxx"))),
        (changed("SEC-004", "bad", (GIVEN, '""')), changed("SEC-004", "good", ("name: hub", "name: other"))),
    ),
    "STO-102": (
        (changed("STO-102", "bad", ("volumeBindingMode: Immediate", "")), changed("STO-102", "bad", ("name: local-nvme", "name: disks"))),
        (
            changed("STO-102", "bad", ("kubernetes.io/no-provisioner", "ebs.csi.aws.com")),
            changed("STO-102", "good", ("name: local-nvme", "name: disks")),
        ),
    ),
}
"""Documents by hand, where nothing of an example can be said in another form: those that are told, and those that are not."""


def read(text: str, folder: Any) -> Bundle:
    file = folder / "example.yaml"
    file.write_text(text, encoding="utf-8")
    reading = read_paths([str(file)])
    found = recognise(reading.documents, parse=load_text)
    return Bundle(**{**{name: getattr(found, name) for name in PARTS}, "problems": (*found.problems, *reading.problems)})


PARTS = tuple(name for name in Bundle.__dataclass_fields__ if name != "memo")


def codes(bundle: Bundle | None) -> set[str]:
    assert bundle is not None
    return {finding.code for finding in judge(bundle, today=TODAY)}


def others(example: Example, which: str) -> list[tuple[str, Bundle | None]]:
    """Other forms of an example's bad or good side, at most five."""
    text: str = getattr(example, which)
    if example.form == "case":
        return [(name, bundle_of(given)) for name, given in case_forms(json.loads(text))]
    made = forms([each for each in yaml.safe_load_all(text) if each])
    documents = [(name, [Document(each, "a.yaml", index) for index, each in enumerate(found)]) for name, found in islice(made, 5)]
    return [(name, recognise(each, parse=load_text)) for name, each in documents]


@pytest.mark.parametrize("code", [code for code in EXAMPLES if code not in OTHERS])
def test_a_rule_fires_on_another_form_and_is_silent_on_two_near_misses(code: str) -> None:
    bad, good = others(EXAMPLES[code], "bad"), others(EXAMPLES[code], "good")
    assert any(code in codes(bundle) for _, bundle in bad), f"told in none of {[name for name, _ in bad]}"
    # The example's own good side is the first near miss (test_rules_examples).
    assert good
    assert [name for name, bundle in good[:2] if code in codes(bundle)] == []


@pytest.mark.parametrize("code", OTHERS)
def test_a_rule_fires_on_documents_made_by_hand_and_is_silent_on_their_neighbours(code: str, tmp_path: Any) -> None:
    case = EXAMPLES[code].form == "case"

    def said(text: str) -> bool:
        return code in codes(bundle_of(json.loads(text)) if case else read(text, tmp_path))

    told, silent = OTHERS[code]
    assert [said(text) for text in told] == [True] * len(told)
    assert [said(text) for text in silent] == [False, False]


KINDS = ("StatefulSet", "LeaderWorkerSet", "InferenceService", "entrypoint", "second application")
MANIFESTS = [code for code, each in EXAMPLES.items() if each.form == "manifest" and code not in ("DOC-001", "DOC-003")]


@pytest.mark.parametrize("turn", range(len(KINDS)), ids=KINDS)
def test_remedies_applied_in_another_form_remove_their_findings_and_bring_no_error(turn: int) -> None:
    """Each rule in one form: all forms in turn."""
    applied_here = [code for code in MANIFESTS[turn :: len(KINDS)] if remedied(code, (*KINDS[turn:], *KINDS[:turn]))]
    assert len(applied_here) > 5


def remedied(code: str, order: tuple[str, ...]) -> bool:
    """Whether a rule's findings in the first form that there is carry changes, which are applied and looked at."""
    made = dict(forms([each for each in yaml.safe_load_all(EXAMPLES[code].bad) if each]))
    documents = next((made[name] for name in order if name in made), [])
    before = judged(documents)
    fixes: dict[int, list[Fix]] = {}
    for finding in before:
        if finding.code == code:
            fixes.setdefault(finding.subject.document, []).extend(finding.fixes)
    if not any(fixes.values()):
        return False
    after = judged([applied(each, fixes.get(index, [])) for index, each in enumerate(documents)])
    known = {(each.code, each.path) for each in before}
    assert [each.text() for each in after if each.code == code] == []
    assert [each.text() for each in after if each.severity is Severity.ERROR and (each.code, each.path) not in known] == []
    return True


def judged(documents: list[Any]) -> tuple[Finding, ...]:
    return judge(recognise([Document(each, "a.yaml", index) for index, each in enumerate(documents)], parse=load_text), today=TODAY)
