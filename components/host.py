"""Serves components as a Pulumi package, with the faults of the SDK's own host of components (3.272) mended.

The SDK hands integers over as floats, empties a list of enums, drops keys that it does not know, leaves the keys of nested lists in
camelCase, and ends in a traceback on an output where it wants an integer, an enum or an object. Here a value has its declared type, an
output stays an output, and what does not fit is handed on as it is: the component tells all that is wrong at once, as to a program in
Python.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pulumi
from google.protobuf import empty_pb2
from pulumi.errors import InputPropertiesError
from pulumi.provider import ConstructResult, main, server
from pulumi.provider.experimental.analyzer import PropertyDefinition
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.experimental.schema import generate_schema

from interlock.components.arguments.engine import EngineSettings
from interlock.infra.described import texts
from interlock.infra.engine.args import EngineArgs
from interlock.infra.engine.options import about, options

PACKAGE = "interlock"


class Host(ComponentProvider):
    """The SDK's provider of components, with a reading of arguments of its own."""

    def __init__(self, components: Sequence[type[pulumi.ComponentResource]]) -> None:
        super().__init__(list(components), PACKAGE, None, version(PACKAGE))
        told = texts(EngineArgs)
        for engine in (self._type_defs[name] for name in (EngineSettings.__name__,) if name in self._type_defs):
            for key, name in engine.properties_mapping.items():
                # The SDK reads no docstrings of inherited keys.
                engine.properties[key].description = told.get(name) or about(options()[name])
        made = generate_schema(PACKAGE, version(PACKAGE), None, self._component_defs, self._type_defs, self._dependencies)
        # Without it Go's generator leaves out the input type of an object that stands in required plain lists only.
        made.language["go"]["generateExtraInputTypes"] = True
        self.schema = json.dumps(made.to_json())

    def construct(self, name: str, resource_type: str, inputs: Any, options: Any = None) -> ConstructResult:
        """Makes one component. A RunError of its constructor is shown as it is, without a traceback."""
        self.validate_resource_type(self._name, resource_type)
        kind = resource_type.rsplit(":", 1)[-1]
        definition = self._component_defs[kind]
        given = self.arguments(kind, inputs)
        try:
            made = self._components[kind](name, given, options)  # type: ignore[arg-type]
        except pulumi.RunError as error:
            raise InputPropertiesError(str(error), []) from None
        return ConstructResult(made.urn, self.get_state(made, definition))

    def arguments(self, kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a component as its TypedDict has them."""
        definition = self._component_defs[kind]
        return self._object(inputs, definition.inputs, definition.inputs_mapping)

    def _object(self, given: Mapping[str, Any], known: Mapping[str, PropertyDefinition], names: Mapping[str, str]) -> dict[str, Any]:
        return {names.get(key, _snake(key)): self._value(known.get(key), value) for key, value in given.items() if value is not None}

    def _value(self, wanted: PropertyDefinition | None, value: Any) -> Any:
        if isinstance(value, pulumi.Output):
            # Where a plain value decides, the component refuses it as it stands.
            return value if wanted is None or wanted.plain else value.apply(lambda known: self._value(wanted, known))
        if wanted is None:
            return _numbers(value)
        if wanted.ref:
            return self._reference(wanted, value)
        if isinstance(value, list):
            return [self._value(wanted.items, item) for item in value]
        if isinstance(value, Mapping):
            return {key: self._value(wanted.additional_properties, item) for key, item in value.items()}
        return _number(value)

    def _reference(self, wanted: PropertyDefinition, value: Any) -> Any:
        definition = self.get_type_definition(wanted)
        if definition is None:
            return _numbers(value)
        if definition.enum:
            kind: Any = definition.python_type
            return kind(value) if value in [one.value for one in kind] else value
        return self._object(value, definition.properties, definition.properties_mapping) if isinstance(value, Mapping) else value


def _snake(key: str) -> str:
    """A key that nobody knows as Python would have it."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)


def _number(value: Any) -> Any:
    """An integer that came as a float; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _numbers(value: Any) -> Any:
    """Data of any shape: a number that is an integer is one again, as engines refuse 8192.0 for a number of tokens."""
    if isinstance(value, Mapping):
        return {key: _numbers(item) for key, item in value.items()}
    return [_numbers(item) for item in value] if isinstance(value, list) else _number(value)


async def _attach(self: Any, request: Any, context: Any) -> Any:
    """What the engine calls on a plugin that runs already (PULUMI_DEBUG_PROVIDERS); the SDK's servicer lacks it."""
    self.engine_address = request.address
    return empty_pb2.Empty()


def provider(components: Sequence[type[pulumi.ComponentResource]]) -> Host:
    """The package of ``components``. Raises an Exception of the SDK for a type that a schema cannot have."""
    return Host(components)


def serve(components: Sequence[type[pulumi.ComponentResource]]) -> None:
    """Serves until the engine ends this process; stands in for the SDK's component_provider_host."""
    server.ProviderServicer.Attach = _attach  # type: ignore[method-assign]
    main(provider(components), sys.argv[1:])
