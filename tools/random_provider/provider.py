"""Two resources of Pulumi's random package, RandomPassword and RandomBytes, with the names and the behaviour of the real plugin as far as
this project uses them: drawn once, when made; every changed argument replaces; results are secret. No import, no bcryptHash.

Where a preview knows no value yet the SDK's PropertyValue cannot say so: on the wire and here it is the text UNKNOWN.
"""

import base64
import json
import secrets
import string
import sys
from collections.abc import Mapping
from typing import Any

from pulumi.provider.experimental import provider as sdk
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.server import main
from pulumi.runtime.rpc import UNKNOWN

VERSION = "4.999.0"
"""Above every published one: the engine would say that the plugin is older than the SDK."""
SETS = {"lower": string.ascii_lowercase, "upper": string.ascii_uppercase, "numeric": string.digits, "special": "!@#$%&*()-_=+[]{}<>:?"}
PASSWORD, BYTES = "random:index/randomPassword:RandomPassword", "random:index/randomBytes:RandomBytes"
#: By type: the arguments with their defaults, and the results.
KINDS: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    PASSWORD: ({"length": None, **dict.fromkeys(SETS, True)}, ("result",)),
    BYTES: ({"length": None}, ("base64", "hex")),
}


def drawn(kind: str, given: Mapping[str, Any]) -> dict[str, str]:
    """The results of a new resource."""
    length = int(given["length"])
    if kind == BYTES:
        data = secrets.token_bytes(length)
        return {"base64": base64.b64encode(data).decode(), "hex": data.hex()}
    allowed = "".join(letters for name, letters in SETS.items() if given.get(name))
    return {"result": "".join(secrets.choice(allowed) for _ in range(length))}


def plain(value: PropertyValue | None) -> Any:
    """The value without its marks, so that two can be compared."""
    inner = value.value if value is not None else None
    if isinstance(inner, Mapping):
        return {key: plain(item) for key, item in inner.items()}
    return inner


class Random(sdk.Provider):
    """The provider."""

    async def get_schema(self, request: sdk.GetSchemaRequest) -> sdk.GetSchemaResponse:
        return sdk.GetSchemaResponse(json.dumps({"name": "random", "version": VERSION, "resources": {}}))

    async def check_config(self, request: sdk.CheckRequest) -> sdk.CheckResponse:
        return sdk.CheckResponse(request.new_inputs)

    async def diff_config(self, request: sdk.DiffRequest) -> sdk.DiffResponse:
        return sdk.DiffResponse(changes=False)

    async def configure(self, request: sdk.ConfigureRequest) -> sdk.ConfigureResponse:
        return sdk.ConfigureResponse(accept_secrets=True, supports_preview=True, accept_resources=True, accept_outputs=False)

    async def check(self, request: sdk.CheckRequest) -> sdk.CheckResponse:
        if request.type not in KINDS:
            return sdk.CheckResponse(failures=[sdk.CheckFailure("", f"this stand-in does not know {request.type}")])
        defaults = {name: PropertyValue(value) for name, value in KINDS[request.type][0].items() if value is not None}
        inputs = {**defaults, **request.new_inputs}
        length = plain(inputs.get("length"))
        wrong = length != UNKNOWN and not (isinstance(length, int | float) and length >= 1)
        return sdk.CheckResponse(inputs, [sdk.CheckFailure("length", f"has to be at least 1, got {length}")] if wrong else [])

    async def diff(self, request: sdk.DiffRequest) -> sdk.DiffResponse:
        names = [*KINDS[request.type][0], "keepers"]
        changed = [name for name in names if plain(request.old_state.get(name)) != plain(request.new_inputs.get(name))]
        detail = {name: sdk.PropertyDiff(sdk.PropertyDiffKind.UPDATE_REPLACE, input_diff=True) for name in changed}
        return sdk.DiffResponse(changes=bool(changed), replaces=changed, diffs=changed, detailed_diff=detail)

    async def create(self, request: sdk.CreateRequest) -> sdk.CreateResponse:
        kind = request.type
        if request.preview:
            values = dict.fromkeys(KINDS[kind][1], UNKNOWN)
        else:
            values = drawn(kind, {name: plain(value) for name, value in request.properties.items()})
        results = {name: PropertyValue(value, is_secret=True) for name, value in values.items()}
        return sdk.CreateResponse("" if request.preview else "none", {**request.properties, **results})

    async def read(self, request: sdk.ReadRequest) -> sdk.ReadResponse:
        return sdk.ReadResponse(request.resource_id, request.properties, request.inputs)

    async def update(self, request: sdk.UpdateRequest) -> sdk.UpdateResponse:
        raise AssertionError("every change replaces")

    async def delete(self, request: sdk.DeleteRequest) -> None:
        return


if __name__ == "__main__":
    main(sys.argv[1:], VERSION, Random())
