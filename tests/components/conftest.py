"""A recording engine: programs run against Pulumi's mocks, and every registration is kept."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks, settings


@dataclass
class Registered:
    """One resource as the engine saw it."""

    type: str
    name: str
    inputs: dict[str, Any]
    custom: bool
    provider: str = ""
    """Reference of the provider; empty = the engine would make the package's default one."""


@dataclass
class Recorder(mocks.Mocks):
    """Keeps every registration and call; answers with the inputs."""

    resources: list[Registered] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        self.resources.append(Registered(args.typ, args.name, dict(args.inputs), bool(args.custom), args.provider or ""))
        # What the random provider draws.
        drawn = {"hex": "ab" * 32, "result": "s" * 48} if args.typ.startswith("random:") else {}
        return f"{args.name}-id", {**args.inputs, **drawn}

    def call(self, args: mocks.MockCallArgs) -> Any:
        self.calls.append(args.token)
        return {}

    def kinds(self) -> list[str]:
        return [each.inputs.get("kind", each.type) for each in self.resources if each.custom]


@pytest.fixture
def run_program() -> Callable[..., Recorder]:
    """Runs a function as a Pulumi program: ``run_program(body, preview=False, stack="dev") -> Recorder``."""

    def run(body: Callable[[], Any], *, preview: bool = False, stack: str = "dev") -> Recorder:
        recorder = Recorder()
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        mocks.set_mocks(recorder, project="interlock", stack=stack, preview=preview)
        exported: dict[str, Any] = {}
        original = pulumi.export
        pulumi.export = lambda name, value: exported.update({name: value})

        @pulumi.runtime.test  # type: ignore[untyped-decorator]
        def program() -> pulumi.Output[None]:
            body()
            return pulumi.Output.all(**exported).apply(recorder.outputs.update)

        try:
            program()
        finally:
            pulumi.export = original
            settings.reset_options()
            loop.close()
        return recorder

    return run
