"""The same workload in other forms: what a Deployment says, said by another kind, by a script, or by another spelling."""

import base64
import copy
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

Documents = list[Any]
Manifest = dict[str, Any]


def _template(document: Any) -> Manifest | None:
    """The pod template of a Deployment that runs containers."""
    if not isinstance(document, dict) or document.get("kind") != "Deployment":
        return None
    template = (document.get("spec") or {}).get("template")
    return template if isinstance(template, dict) and isinstance(template.get("spec"), dict) else None


def _remade(documents: Documents, make: Callable[[Manifest, Manifest], Manifest]) -> Documents | None:
    """The documents with each Deployment made anew, autoscalers pointed at its new kind; None where there is no Deployment."""
    made, kinds = [], dict[str, str]()
    for document in documents:
        template = _template(document)
        made.append(copy.deepcopy(document) if template is None else make(copy.deepcopy(document), copy.deepcopy(template)))
        if template is not None:
            kinds[document["metadata"]["name"]] = made[-1]["kind"]
    for document in made:
        target = (document.get("spec") or {}).get("scaleTargetRef") if isinstance(document, dict) else None
        if isinstance(target, dict) and target.get("name") in kinds:
            api = next(each["apiVersion"] for each in made if each.get("kind") == kinds[target["name"]])
            target |= {"kind": kinds[target["name"]], "apiVersion": api}
    return made if kinds else None


def stateful_set(documents: Documents) -> Documents | None:
    """A StatefulSet with the same template."""

    def make(document: Manifest, template: Manifest) -> Manifest:
        spec = {key: value for key, value in document["spec"].items() if key not in ("strategy", "progressDeadlineSeconds")}
        return {**document, "kind": "StatefulSet", "spec": {**spec, "serviceName": f"{document['metadata']['name']}-pods"}}

    return _remade(documents, make)


def group(documents: Documents) -> Documents | None:
    """A LeaderWorkerSet of one pod a replica."""

    def make(document: Manifest, template: Manifest) -> Manifest:
        replicas = {"replicas": document["spec"]["replicas"]} if "replicas" in document["spec"] else {}
        spec = {**replicas, "leaderWorkerTemplate": {"size": 1, "workerTemplate": template}}
        return {**document, "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "spec": spec}

    return _remade(documents, make)


def predictor(documents: Documents) -> Documents | None:
    """An InferenceService of KServe whose predictor is the pod."""

    def make(document: Manifest, template: Manifest) -> Manifest:
        spec = {"predictor": {**template["spec"], "labels": (template.get("metadata") or {}).get("labels") or {}}}
        return {**document, "apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "spec": spec}

    return _remade(documents, make)


def script(documents: Documents) -> Documents | None:
    """The same command line in a shell script."""

    def make(document: Manifest, template: Manifest) -> Manifest:
        for box in template["spec"].get("containers") or []:
            words = [*(box.get("command") or []), *(box.get("args") or [])]
            if box.get("command") and all(isinstance(word, str) for word in words):
                box |= {"command": ["/bin/sh", "-c"], "args": [f"exec {shlex.join(words)}"]}
        return {**document, "spec": {**document["spec"], "template": template}}

    return _remade(documents, make)


def module(documents: Documents) -> Documents | None:
    """The same command line by the image's own entrypoint: the model and the arguments alone."""

    def make(document: Manifest, template: Manifest) -> Manifest:
        for box in template["spec"].get("containers") or []:
            if box.get("command", [])[:2] == ["vllm", "serve"]:
                box["args"] = [*box.pop("command")[2:], *(box.get("args") or [])]
        return {**document, "spec": {**document["spec"], "template": template}}

    return _remade(documents, make)


def _changed(documents: Documents, kind: str, change: Callable[[Manifest], Manifest | None]) -> Documents | None:
    """The documents with each of a kind changed; None where nothing is."""
    made = [change(copy.deepcopy(each)) if isinstance(each, dict) and each.get("kind") == kind else each for each in documents]
    return [new or old for new, old in zip(made, documents, strict=True)] if made != documents else None


def serve_json(documents: Documents) -> Documents | None:
    """A RayService whose Serve config is JSON."""

    def change(document: Manifest) -> Manifest | None:
        config = _serve(document)
        return None if config is None else _with_serve(document, json.dumps(config))

    return _changed(documents, "RayService", change)


def second_application(documents: Documents) -> Documents | None:
    """A RayService with an application of somebody else before the engine's."""

    def change(document: Manifest) -> Manifest | None:
        config = _serve(document)
        if config is None:
            return None
        other = {"name": "web", "route_prefix": "/web", "import_path": "web:app"}
        return _with_serve(document, yaml.safe_dump({**config, "applications": [other, *config["applications"]]}))

    return _changed(documents, "RayService", change)


def _serve(document: Manifest) -> Manifest | None:
    try:
        config = yaml.safe_load(document["spec"]["serveConfigV2"])
    except yaml.YAMLError:
        return None
    return config if isinstance(config, dict) and config.get("applications") else None


def _with_serve(document: Manifest, text: str) -> Manifest:
    return {**document, "spec": {**document["spec"], "serveConfigV2": text}}


def led(documents: Documents) -> Documents | None:
    """A LeaderWorkerSet whose leader has a template of its own."""

    def change(document: Manifest) -> Manifest | None:
        inner = document["spec"]["leaderWorkerTemplate"]
        worker = inner["workerTemplate"]
        made = (
            {**inner, "leaderTemplate": worker} if "leaderTemplate" not in inner else {**inner, "workerTemplate": inner["leaderTemplate"]}
        )
        return {**document, "spec": {**document["spec"], "leaderWorkerTemplate": made}}

    return _changed(documents, "LeaderWorkerSet", change)


def rule_file(documents: Documents) -> Documents | None:
    """A PrometheusRule as a file of rules in a ConfigMap."""

    def change(document: Manifest) -> Manifest:
        data = {"rules.yaml": yaml.safe_dump(document["spec"])}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": document["metadata"], "data": data}

    return _changed(documents, "PrometheusRule", change)


def encoded(documents: Documents) -> Documents | None:
    """A Secret with its values in base64."""

    def change(document: Manifest) -> Manifest:
        plain = document.pop("stringData", {})
        data = {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}
        return {**document, "data": {**document.get("data", {}), **data}}

    return _changed(documents, "Secret", change)


def provisioner(documents: Documents) -> Documents | None:
    """A NodePool as the Provisioner of an older Karpenter."""

    def change(document: Manifest) -> Manifest:
        spec = document["spec"]
        limits = {"limits": {"resources": spec["limits"]}} if "limits" in spec else {}
        inner = {key: value for key, value in spec["template"]["spec"].items() if key != "nodeClassRef"}
        return {**document, "apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "spec": {**inner, **limits}}

    return _changed(documents, "NodePool", change)


def config_json(documents: Documents) -> Documents | None:
    """A ConfigMap whose texts are JSON."""

    def change(document: Manifest) -> Manifest:
        data = {key: yaml.safe_load(text) for key, text in document["data"].items()}
        return {
            **document,
            "data": {key: json.dumps(value) if isinstance(value, dict) else document["data"][key] for key, value in data.items()},
        }

    return _changed(documents, "ConfigMap", change)


FORMS: Mapping[str, Callable[[Documents], Documents | None]] = {
    "StatefulSet": stateful_set,
    "LeaderWorkerSet": group,
    "InferenceService": predictor,
    "script": script,
    "entrypoint": module,
    "Serve config in JSON": serve_json,
    "second application": second_application,
    "leader of its own": led,
    "file of rules": rule_file,
    "encoded Secret": encoded,
    "Provisioner": provisioner,
    "ConfigMap in JSON": config_json,
}
"""Forms that say the same in other words."""


def forms(documents: Documents) -> Iterator[tuple[str, Documents]]:
    """Every other form of some documents, by its name."""
    for name, form in FORMS.items():
        made = form(documents)
        if made is not None and made != documents:
            yield name, made


def case_forms(given: Manifest) -> Iterator[tuple[str, Manifest]]:
    """The facts of a case about other kinds of workload."""
    k8s = given.get("k8s") or {}
    for name, stated in (("StatefulSet", {"kind": "StatefulSet"}), ("LeaderWorkerSet", {"operator": "LWS"})):
        if not k8s.keys() & stated.keys():
            yield name, {**given, "k8s": {**k8s, **stated}}
