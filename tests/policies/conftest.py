"""The pack as the engine sees it: the SDK's own servicer in this process, asked by the messages that the engine sends."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import EnforcementLevel
from pulumi_policy.policy import _PolicyAnalyzerServicer

from interlock.policies.pack import policies


@dataclass(frozen=True)
class Violation:
    """One diagnostic of the pack."""

    policy: str
    level: str
    urn: str
    message: str


class Pack:
    """A started pack. ``config`` is what a person gives to the policy ``contradictions``."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        made = policies()
        self.servicer = cast(Any, _PolicyAnalyzerServicer("interlock", "0.1.0", made, EnforcementLevel.ADVISORY))
        request = analyzer_pb2.ConfigureAnalyzerRequest()
        for policy in made:
            level = policy.enforcement_level or EnforcementLevel.ADVISORY
            request.policyConfig[policy.name].enforcementLevel = analyzer_pb2.EnforcementLevel.Value(level.name)
        request.policyConfig["contradictions"].properties.update(dict(config or {}))
        self.servicer.Configure(request, None)

    def resource(self, type_: str, name: str, properties: Mapping[str, Any]) -> list[Violation]:
        """What the pack says of one resource before it is made."""
        request = analyzer_pb2.AnalyzeRequest(type=type_, name=name, urn=urn(type_, name), properties=_struct(properties))
        return _violations(self.servicer.Analyze(request, None))

    def stack(self, resources: Iterable[tuple[str, str, Mapping[str, Any]]]) -> list[Violation]:
        """What the pack says of a whole stack."""
        request = analyzer_pb2.AnalyzeStackRequest(
            resources=[
                analyzer_pb2.AnalyzerResource(type=type_, name=name, urn=urn(type_, name), properties=_struct(properties))
                for type_, name, properties in resources
            ]
        )
        return _violations(self.servicer.AnalyzeStack(request, None))


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:dev::foreign::{type_}::{name}"


def _struct(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    made.update(dict(properties))
    return made


def _violations(response: Any) -> list[Violation]:
    return [
        Violation(each.policyName, analyzer_pb2.EnforcementLevel.Name(each.enforcementLevel).lower(), each.urn, each.message)
        for each in response.diagnostics
    ]


@pytest.fixture
def make_pack() -> Callable[..., Pack]:
    """A function ``(config=None)`` that starts the pack."""
    return Pack
