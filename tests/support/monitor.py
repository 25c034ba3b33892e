"""Programs against Pulumi's mocks, with every registration kept as the engine would get it: parent, options, aliases, outputs."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.runtime import mocks, rpc, settings


@dataclass
class Registration:
    """One resource."""

    urn: str
    request: Any
    """The engine's RegisterResourceRequest."""
    inputs: dict[str, Any]

    @property
    def identity(self) -> tuple[str, str, str]:
        """Kind, namespace and name of a Kubernetes object; a name that is not known yet counts by its URN."""
        metadata = self.inputs["metadata"]
        return self.inputs["kind"], str(metadata.get("namespace", "")), str(metadata.get("name", self.urn))


@dataclass
class Run:
    """What one program registered."""

    resources: list[Registration] = field(default_factory=list)
    outputs: dict[str, set[str]] = field(default_factory=dict)
    """Names of the outputs that each component registered, by URN."""
    values: dict[str, Any] = field(default_factory=dict)
    """What ``watch`` was given, resolved."""

    @property
    def objects(self) -> list[Registration]:
        """The Kubernetes objects, in a stable order."""
        return sorted((each for each in self.resources if each.request.type.startswith("kubernetes:")), key=lambda each: each.urn)

    def components(self, kind: str) -> list[Registration]:
        """The components of one class."""
        return [each for each in self.resources if each.request.type == f"interlock:index:{kind}"]

    def plain(self) -> list[dict[str, Any]]:
        """The inputs of the objects."""
        return [each.inputs for each in self.objects]


class _Monitor(mocks.MockMonitor):
    def __init__(self, run: Run) -> None:
        super().__init__(_Answers())
        self.run = run

    def RegisterResource(self, request: Any) -> Any:
        answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type != "pulumi:pulumi:Stack":
            self.run.resources.append(Registration(answer.urn, request, dict(rpc.deserialize_properties(request.object) or {})))
        return answer

    def RegisterResourceOutputs(self, request: Any) -> Any:
        assert request.urn not in self.run.outputs, "outputs were registered twice"
        self.run.outputs[request.urn] = set(request.outputs)
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


class _Answers(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        # As Kubernetes names what has no name of its own.
        named = {"metadata": {"name": args.name, **args.inputs.get("metadata", {})}} if args.typ.startswith("kubernetes:") else {}
        return f"{args.name}-id", {**args.inputs, **named}

    def call(self, args: mocks.MockCallArgs) -> Any:
        return {}


def run(body: Callable[[], object], *, preview: bool = False, stack: str = "dev") -> Run:
    """What ``body`` registers as a program; where it returns a mapping of outputs, these are resolved into ``values``."""
    made = Run()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    mocks.set_mocks(_Answers(), project="own", stack=stack, preview=preview, monitor=_Monitor(made))

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def program() -> pulumi.Output[None]:
        outputs = body()
        return pulumi.Output.all(**(outputs if isinstance(outputs, Mapping) else {})).apply(made.values.update)

    try:
        program()
    finally:
        settings.reset_options()
        loop.close()  # some thousand programs run in one process
    return made


def later(value: Any) -> pulumi.Output[Any]:
    """An output whose value is known."""
    return pulumi.Output.from_input(value).apply(lambda known: known)


def unknown() -> pulumi.Output[Any]:
    """An output that a preview does not know."""
    value, known, secret = asyncio.Future[Any](), asyncio.Future[bool](), asyncio.Future[bool]()
    value.set_result(pulumi.output.UNKNOWN)
    known.set_result(False)
    secret.set_result(False)
    return pulumi.Output(set(), value, known, secret)
