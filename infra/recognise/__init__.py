"""Manifests and Pulumi properties to workload facts: pure, tolerant of unknown values and of any shape."""

from interlock.infra.recognise.document import UNKNOWN, Document
from interlock.infra.recognise.recognise import recognise

__all__ = ["UNKNOWN", "Document", "recognise"]
