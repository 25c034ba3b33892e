"""Memory of a model on a GPU: weights, KV cache, activation, graphs, and whether it fits. ``size`` is a pure function."""

from interlock.infra.sizing.budget import size, start_refusals
from interlock.infra.sizing.model.facts import ModelFacts
from interlock.infra.sizing.model.lookup import missing_shapes, model_facts
from interlock.infra.sizing.refusal import Kind, Refusal
from interlock.infra.sizing.request import Entry, SizingRequest
from interlock.infra.sizing.result import Estimate, HostSide, SizingResult, Suggestion, Term, Verdict
from interlock.infra.sizing.weights.rank import whole_weights

__all__ = [
    "Entry",
    "Estimate",
    "HostSide",
    "Kind",
    "ModelFacts",
    "Refusal",
    "SizingRequest",
    "SizingResult",
    "Suggestion",
    "Term",
    "Verdict",
    "missing_shapes",
    "model_facts",
    "size",
    "start_refusals",
    "whole_weights",
]
