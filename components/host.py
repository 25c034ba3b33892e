"""Serves components as a Pulumi package, with the faults of the SDK's own host of components (3.272) mended.

The SDK hands integers over as floats, empties a list of enums, drops keys that it does not know, leaves the keys of nested lists in
camelCase, and ends in a traceback on an output where it wants an integer, an enum or an object. Here a value has its declared type,
an output stays an output where the declaration says ``Input``, and a refusal is one message that names the property.
"""

import difflib
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pulumi
from google.protobuf import empty_pb2
from pulumi.errors import InputPropertiesError, InputPropertyError
from pulumi.provider import ConstructResult, main, server
from pulumi.provider.experimental.analyzer import PropertyDefinition, PropertyType
from pulumi.provider.experimental.component import ComponentProvider

PACKAGE = "interlock"


class Host(ComponentProvider):
    """The SDK's provider of components, with a reading of arguments of its own."""

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
        """The arguments of a component as its TypedDict has them. Raises InputPropertyError with the property."""
        return self._object(inputs, self._component_defs[kind], "inputs", "")

    def _object(self, given: Any, definition: Any, group: str, path: str) -> dict[str, Any]:
        known, names = getattr(definition, group), getattr(definition, f"{group}_mapping")
        if not isinstance(given, Mapping):
            raise InputPropertyError(path, f"{given!r} is not a mapping with keys such as {', '.join(list(known)[:4])}")
        for key in given:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"keys: {', '.join(known)}"
                raise InputPropertyError(f"{path}.{key}" if path else str(key), f"unknown key; {hint}")
        values = {}
        for key, wanted in known.items():
            at = f"{path}.{key}" if path else key
            if given.get(key) is not None:
                values[names[key]] = self._value(wanted, given[key], at)
            elif not wanted.optional:
                raise InputPropertyError(at, "is required and missing")
        return values

    def _value(self, wanted: PropertyDefinition, value: Any, path: str) -> Any:
        if isinstance(value, pulumi.Output):
            if wanted.plain:
                raise InputPropertyError(path, "has to be known before anything is made: a value, not a secret or a resource's output")
            return value.apply(lambda known: self._value(wanted, known, path))
        if value is None:
            return None
        if wanted.ref:
            return self._reference(wanted, value, path)
        if wanted.type is PropertyType.INTEGER:
            return _whole(value, path)
        if wanted.type is PropertyType.ARRAY and wanted.items and isinstance(value, list):
            return [self._value(wanted.items, item, f"{path}[{number}]") for number, item in enumerate(value)]
        if wanted.type is PropertyType.OBJECT and wanted.additional_properties and isinstance(value, Mapping):
            return {key: self._value(wanted.additional_properties, item, f"{path}.{key}") for key, item in value.items()}
        return value

    def _reference(self, wanted: PropertyDefinition, value: Any, path: str) -> Any:
        definition = self.get_type_definition(wanted)
        if definition is None:
            return _numbers(value)
        if not definition.enum:
            return self._object(value, definition, "properties", path)
        kind: Any = definition.python_type
        try:
            return kind(value)
        except ValueError:
            raise InputPropertyError(path, f"{value!r} is none of {', '.join(str(one.value) for one in kind)}") from None


def _whole(value: Any, path: str) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool) or value != int(value):
        raise InputPropertyError(path, f"{value!r} is not an integer")
    return int(value)


def _numbers(value: Any) -> Any:
    """Data of any shape: a number that is an integer is one again, as engines refuse 8192.0 for a number of tokens."""
    if isinstance(value, Mapping):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


async def _attach(self: Any, request: Any, context: Any) -> Any:
    """What the engine calls on a plugin that runs already (PULUMI_DEBUG_PROVIDERS); the SDK's servicer lacks it."""
    self.engine_address = request.address
    return empty_pb2.Empty()


def provider(components: Sequence[type[pulumi.ComponentResource]]) -> Host:
    """The package of ``components``. Raises an Exception of the SDK for a type that a schema cannot have."""
    return Host(list(components), PACKAGE, None, version(PACKAGE))


def serve(components: Sequence[type[pulumi.ComponentResource]]) -> None:
    """Serves until the engine ends this process; stands in for the SDK's component_provider_host."""
    server.ProviderServicer.Attach = _attach  # type: ignore[method-assign]
    main(provider(components), sys.argv[1:])
