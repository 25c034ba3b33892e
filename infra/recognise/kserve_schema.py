"""What KServe's webhook refuses of an InferenceService, by the rows of field_relations.json whose types begin with ``kserve:``."""

from collections.abc import Iterator, Mapping

from interlock.infra.catalog.field_relations import SEGMENT, field_refused
from interlock.infra.facts import DocumentProblem, Origin
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin
from interlock.infra.recognise.schema import readable

_COMPONENTS = ("predictor", "transformer", "explainer")
_CLASS, _MODE = "serving.kserve.io/autoscalerClass", "serving.kserve.io/deploymentMode"
# Without one of these modes the webhook takes the service for one of Knative, whatever the class of its autoscaler.
# RawDeployment is the name until 0.15, and 0.17 writes Standard for it; 0.16 compares with Standard alone, and refuses none of these
# (inference_service_validation.go validateAutoScalingCompExtension, inference_service_defaults.go DefaultInferenceService).
_PLAIN, _KNATIVE = {"Standard": "error", "RawDeployment": "warning"}, ("Knative", "Serverless")
_SCALED: Mapping[str, tuple[str, str]] = {"hpa": ("ScaledByHpa", "MetricOfHpa"), "keda": ("ScaledByKeda", "MetricOfKeda")}
"""Class of the autoscaler -> the types that a component and its metrics then are."""


def read_refusals(root: Node, document: Document, context: Context) -> Iterator[DocumentProblem]:
    """Everything of one InferenceService."""
    source, notes = origin(root, document), root.at("metadata", "annotations")
    yield from _refused(root, "InferenceService", source)
    mode = notes[_MODE].string()
    of_class = _SCALED.get(notes[_CLASS].string()) if mode in _PLAIN else None
    for name in _COMPONENTS:
        component = root.at("spec", name)
        yield from _refused(component, "Component", source)
        for storage in component["storageUris"].items():
            yield from _refused(storage, "StorageUri", source)
        if mode in _KNATIVE:  # Where none is stated, the operator's own configuration decides.
            yield from _refused(component, "ScaledByKnative", source)
        if of_class:
            yield from _refused(component, of_class[0], source, _PLAIN[mode])
            for metric in component.at("autoScaling", "metrics").items():
                yield from _refused(metric, of_class[1], source, _PLAIN[mode])


def _refused(node: Node, name: str, source: Origin, most: str = "error") -> Iterator[DocumentProblem]:
    for refused in field_refused(f"kserve:{name}", node.mapping, readable) if node.mapping else ():
        row, place = refused.relation, node
        for key, step in SEGMENT.findall(row.at.partition("[]")[0]):
            place = place[key or step]
        level = row.severity if most == "error" else most
        yield DocumentProblem(source, "schema-broken", refused.message, place.path, place.string()[:80], refused.fix, level, row.id)
