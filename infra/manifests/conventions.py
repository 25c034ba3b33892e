"""A team's conventions on finished objects: labels, annotations, the mirror of every image, proxy and certificates in every pod."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.conventions import Conventions
from interlock.infra.manifests.placed import Draft, Source
from interlock.infra.manifests.templates import templates
from interlock.infra.paths import child_path

FIELD = "conventions"
VOLUME, FOLDER = "certificates", "/etc/interlock/certificates"
_CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE")
"""Variables by which Python's ssl, requests, curl and boto3 find their authorities."""
PODS = frozenset({"Deployment", "LeaderWorkerSet", "Job", "RayService"})
"""Kinds whose pods ask servers outside."""


def with_conventions(config: ClusterConfig, draft: Draft) -> Draft:
    """``draft`` as the team wants its objects; a Node belongs to somebody else and stays as it is."""
    wanted, kind = config.conventions, draft.manifest["kind"]
    if wanted == Conventions() or kind == "Node":
        return draft
    made, sources = copy.deepcopy(draft.manifest), dict(draft.sources)
    for name in ("labels", "annotations"):
        _add(made["metadata"], getattr(wanted, name), name, "metadata", sources)
    for path, template in templates(made):
        template.setdefault("metadata", {})
        if kind != "Job":  # its template never changes
            _add(template["metadata"], wanted.labels, "labels", f"{path}.metadata", sources)
        for place, container in _containers(template["spec"], f"{path}.spec"):
            _mirrored(container, place, wanted, sources)
            if kind in PODS:
                _env(container, place, variables(wanted), sources)
        if kind in PODS and wanted.certificates:
            _certified(template["spec"], f"{path}.spec", wanted, sources)
    return replace(draft, manifest=made, sources=sources)


def variables(wanted: Conventions) -> dict[str, str]:
    """What every pod's environment says of servers outside."""
    found = {}
    if wanted.proxy:
        found = {"HTTP_PROXY": wanted.proxy.url, "HTTPS_PROXY": wanted.proxy.url, "NO_PROXY": ",".join(wanted.proxy.no_proxy)}
        found |= {name.lower(): value for name, value in found.items()}
    if wanted.certificates:
        found |= dict.fromkeys(_CERTIFICATES, f"{FOLDER}/{wanted.certificates.key}")
    return found


def _add(metadata: dict[str, Any], given: Mapping[str, str], name: str, path: str, sources: dict[str, Source]) -> None:
    own = metadata.get(name, {})
    added = {key: value for key, value in given.items() if key not in own}
    if added:
        metadata[name] = {**own, **added}
        sources |= {child_path(f"{path}.{name}", key): Source(child_path(f"{FIELD}.{name}", key)) for key in added}


def _containers(spec: Mapping[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for key in ("initContainers", "containers"):
        for at, each in enumerate(spec.get(key) or ()):
            if isinstance(each, dict):
                yield f"{path}.{key}[{at}]", each


def _mirrored(container: dict[str, Any], path: str, wanted: Conventions, sources: dict[str, Source]) -> None:
    image = container.get("image")
    if wanted.registry and isinstance(image, str) and not image.startswith(f"{wanted.registry.rstrip('/')}/"):
        container["image"] = f"{wanted.registry.rstrip('/')}/{image}"
        sources[f"{path}.image"] = Source(f"{FIELD}.registry")


def _env(container: dict[str, Any], path: str, given: Mapping[str, str], sources: dict[str, Source]) -> None:
    env = container.get("env") or []
    stated = {each.get("name") for each in env if isinstance(each, dict)}
    more = [{"name": name, "value": value} for name, value in given.items() if name not in stated]
    if more:
        container["env"] = [*env, *more]
        for at, each in enumerate(more, len(env)):
            sources[f"{path}.env[{at}]"] = Source(f"{FIELD}.{'certificates' if each['name'] in _CERTIFICATES else 'proxy'}")


def _certified(spec: dict[str, Any], path: str, wanted: Conventions, sources: dict[str, Source]) -> None:
    assert wanted.certificates is not None
    source = Source(f"{FIELD}.certificates")
    volumes = spec.get("volumes") or []
    spec["volumes"] = [*volumes, {"name": VOLUME, "configMap": {"name": wanted.certificates.config_map}}]
    sources[f"{path}.volumes[{len(volumes)}]"] = source
    for place, container in _containers(spec, path):
        mounts = container.get("volumeMounts") or []
        container["volumeMounts"] = [*mounts, {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}]
        sources[f"{place}.volumeMounts[{len(mounts)}]"] = source
