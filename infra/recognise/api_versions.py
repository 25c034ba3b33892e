"""API versions that Kubernetes does not serve, or serves only where it is told to."""

from collections.abc import Iterator

from interlock.infra.catalog.tables import table
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise.document import Node

KIND = "api-version"
"""The kind of these problems."""


_WAITING = "the pods start one by one, and those that run hold their GPUs while they wait for the others"


def dropped_fields(spec: Node, source: Origin) -> Iterator[DocumentProblem]:
    """Fields of a pod that the API server erases without a word while their feature gate is off."""
    for name, row in table("api_versions.json")["dropped"].items():
        node = spec[name]
        if node:
            text = f"the API server erases {name} unless the feature gate {row['gate']} is on, which is off by default: {_WAITING}"
            remedy = "switch the gate on and look at the field after a dry run, or gather the pods with LeaderWorkerSet, Kueue or Volcano"
            yield DocumentProblem(source, KIND, text, node.path, remedy=remedy, fault="gang-dropped")


def api_problems(root: Node, source: Origin) -> Iterator[DocumentProblem]:
    """What the API server does not know of a document's ``apiVersion``. Groups that are not Kubernetes' own are not judged."""
    data = table("api_versions.json")
    node, kind = root["apiVersion"], root["kind"].string()
    group, slash, version = node.string().partition("/")
    known = data["groups"].get(group) if slash else None
    if known is None or version in known["served"]:
        return
    whole, off = f"{group}/{version}", known["off"]
    lost = known.get("gone", {}).get(version, {}).get(kind)
    if lost:
        text = f"{kind} of {whole} is gone since Kubernetes {lost}, and nothing of it is applied there"
        yield DocumentProblem(source, KIND, text, node.path, whole, f"write {group}/{known['served'][0]}")
        return
    gated = kind in data["only_off"].get(group, ())
    if kind not in off.get(version, ()) and not gated:
        there = data["moved"].get(f"{group} {kind}") or (f"{group}/{known['served'][0]}" if known["served"] else "")
        remedy = f"use {there} and its fields" if there else "remove the object"
        yield DocumentProblem(source, "schema-broken", f"{whole} {kind} exists in no supported Kubernetes", node.path, whole, remedy)
        return
    newest = next((each for each in off if kind in off[each]), version)
    named = f"{kind} of {whole}: Kubernetes {data['release']}"
    asked = "only with a feature gate and --runtime-config, which are off by default"
    text = f"{named} serves it {asked}" if kind in off.get(version, ()) else f"{named} has no such version, and serves {newest} {asked}"
    written = "" if newest == version else f"write {group}/{newest}, and "
    remedy = f"{written}switch it on, or leave it out" if gated else f"write {group}/{known['served'][0]}"
    yield DocumentProblem(source, KIND, text, node.path, whole, remedy)
