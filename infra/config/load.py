"""From plain data to a ClusterConfig, listing every problem by its field."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from interlock.infra.catalog.images import image_reference
from interlock.infra.config.cluster import ClusterConfig, Scope
from interlock.infra.config.defaults import default_problems, with_defaults, written
from interlock.infra.config.filled import not_fetched
from interlock.infra.config.layer import undone
from interlock.infra.config.names import unknown_names
from interlock.infra.config.ray import Serve
from interlock.infra.config.ray_checks import ray_problems
from interlock.infra.config.servers import ServerConfig
from interlock.infra.config.split import split_problems
from interlock.infra.config.stores import StoreKind
from interlock.infra.config.wording import worded
from interlock.infra.engine.args import UNKNOWN
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.naming import LABEL_LIMIT

# The longest suffix that the program appends to a server's name: ``-<10 hex digits of a content hash>-spec``.
LONGEST_SUFFIX = len("-spec-0123456789")


def load(data: object, source: str = "") -> ClusterConfig:
    """The configuration in ``data`` (the value of ``interlock:cluster``). Raises ConfigError with every problem found."""
    if not isinstance(data, Mapping):
        raise ConfigError([Problem("interlock:cluster", f"is {_kind(data)}, not a mapping with keys such as pools and servers", source)])
    if wrong := default_problems(data, source):
        raise ConfigError(wrong)
    try:
        config = ClusterConfig.model_validate(with_defaults(data))
    except ValidationError as error:
        told = [each for detail in _first_causes(error.errors()) for each in _problems(detail, data, source)]
        raise ConfigError(list(dict.fromkeys(told))) from None
    found = (*_references(config), *_access(config), *ray_problems(config), *unknown_names(config))
    problems = [Problem(path, message, source) for path, message in found]
    if problems:
        raise ConfigError(problems)
    return config


def _first_causes(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without the "too short" of a list whose items are wrong: those items were given, only not valid."""
    places = [detail["loc"] for detail in details]

    def follows(detail: ErrorDetails) -> bool:
        place = detail["loc"]
        return detail["type"] == "too_short" and any(other[: len(place)] == place and other != place for other in places)

    return [detail for detail in details if not follows(detail)]


def dotted(location: Iterable[str | int]) -> str:
    """``("servers", 1, "gpus")`` as ``servers[1].gpus``."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _problems(detail: ErrorDetails, data: Mapping[str, Any], source: str) -> Iterator[Problem]:
    """One problem, or one for each argument of an engine."""
    if detail["type"] == UNKNOWN:
        found = detail["ctx"]["found"]
        yield from (Problem(dotted(written(data, (*detail["loc"], name))), text, source) for name, text in found)
    else:
        yield _problem(detail, data, source)


def _problem(detail: ErrorDetails, data: Mapping[str, Any], source: str) -> Problem:
    location = detail["loc"]
    path = dotted(part for part in written(data, location) if part != "[key]")
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(location[-1]), _siblings(location[:-1]), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known keys here: {', '.join(sorted(_siblings(location[:-1])))}"
        return Problem(path, f"unknown key{hint}", source)
    if detail["type"] == "missing":
        return Problem(path, "is required and missing", source)
    return Problem(path, worded(detail), source)


def _siblings(location: tuple[str | int, ...]) -> list[str]:
    """Keys allowed at a place of the schema."""
    model: Any = ClusterConfig
    for part in location:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        model = next(iter(_models(annotation)), None)
        if model is None:
            return []
    return list(model.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)


def _references(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """Names that are used twice or lead nowhere."""
    for kind in ("pools", "stores", "servers", "ray_services", "tenants", "service_accounts"):
        yield from _duplicates(kind, [item.name for item in getattr(config, kind)])
    yield from _duplicates("platform.priority_classes", [each.name for each in config.platform.priority_classes])
    pools, stores = [pool.name for pool in config.pools], [store.name for store in config.stores]
    for index in range(len(config.servers)):
        yield from _of_server(config, index, pools, stores)
    made = config.create_namespace and config.scope is not Scope.PLATFORM
    if made and (config.namespace == "default" or config.namespace.startswith("kube-")):
        yield (
            "namespace",
            f"{config.namespace!r} is there in every cluster and cannot be made: choose another, or set create_namespace: false",
        )
    yield from _store_references(config, stores)
    yield from _nodes_of_two_pools(config)
    yield from undone(config)
    yield from _unpinned(config) if config.production else ()
    for index, tenant in enumerate(config.tenants):
        for pool in tenant.gpus:
            if pool not in pools:
                yield f"tenants[{index}].gpus.{pool}", f"{pool!r} is not a pool of this stack; pools: {_listed(pools)}"
    if config.scope is Scope.SERVING and config.tenants:
        yield "tenants", "namespaces and quotas belong to the cluster; put them into the stack with scope platform"
    if config.scope is Scope.PLATFORM and config.servers:
        yield "servers", "a platform stack owns cluster-wide parts only; put the servers into a stack with scope serving"


def _access(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """Tenants with keys, and the servers that ask for them."""
    tenants, servers = config.access.tenants, [server.name for server in config.servers]
    yield from _duplicates("access.tenants", [each.name for each in tenants])
    if tenants and config.scope is Scope.PLATFORM:
        yield "access.tenants", "a platform stack serves nothing; put them into the stack that has the servers"
    for index, tenant in enumerate(tenants):
        for name in tenant.servers or ():
            if name not in servers:
                yield f"access.tenants[{index}].servers", f"{name!r} is not a server of this stack; servers: {_listed(servers)}"
    for index, server in enumerate(config.servers):
        place = f"servers[{index}].access.keys"
        if server.access.keys and not tenants:
            yield place, "no tenant has a key: name tenants in access.tenants, or remove it"
        if asks_for_keys(config, server) and server.serve is Serve.RAY:
            why = "Ray's own ingress answers there, which loads nothing of ours that checks keys"
            yield place, f"{why}: set keys: false, and access.open to the reason where a route leads to it, or serve: deployment"
        elif asks_for_keys(config, server) and not server.runtime.supervised:
            why = "the keys are checked by what the supervisor brings along (runtime.supervised: false)"
            yield place, f"{why}: set supervised: true, or keys: false"


def asks_for_keys(config: ClusterConfig, server: ServerConfig) -> bool:
    """Whether a server asks for tenants' keys."""
    return bool(config.access.tenants and not server.access.open) if server.access.keys is None else server.access.keys


_OF_ADAPTERS = ("enable_lora", "lora_modules", "max_loras", "max_cpu_loras", "max_lora_rank")


def _adapters(server: ServerConfig, place: str) -> Iterator[tuple[str, str]]:
    """Adapters that are said twice, take the model's own name, or need what is switched off."""
    if server.adapters is None:
        return
    for name in (name for name in _OF_ADAPTERS if name in server.engine.stated()):
        yield f"{place}.engine.{name}", "adapters say it already: remove it here, or remove adapters"
    taken = server.served_name or server.model.id
    for at, each in enumerate(server.adapters.modules):
        if each.name == taken:
            yield f"{place}.adapters.modules[{at}].name", f"{taken!r} is the name of the model itself: give the adapter another one"
    if server.adapters.hot and not server.runtime.supervised:
        why = "the list is followed by what the supervisor brings along (runtime.supervised: false)"
        yield f"{place}.adapters.hot", f"{why}: set supervised: true, or hot: false"


def _of_server(config: ClusterConfig, index: int, pools: list[str], stores: list[str]) -> Iterator[tuple[str, str]]:
    """What one server names that is not there, is taken, or cannot be."""
    server = config.servers[index]
    if server.pool not in pools:
        yield f"servers[{index}].pool", f"{server.pool!r} is not a pool of this stack; pools: {_listed(pools)}"
    for field in ("weights", "compile_cache"):
        store = getattr(server, field)
        if store is not None and store not in stores:
            yield f"servers[{index}].{field}", f"{store!r} is not a store of this stack; stores: {_listed(stores)}"
    kinds = {store.name: store.kind for store in config.stores}
    if kinds.get(server.compile_cache or "") is StoreKind.BUCKET:
        yield (
            f"servers[{index}].compile_cache",
            f"{server.compile_cache!r} is a bucket, which nothing writes to: name a store that is mounted",
        )
    yield from _taken(config, index)
    yield from split_problems(config, index)
    yield from _adapters(server, f"servers[{index}]")
    yield from not_fetched(config, index)
    yield from _directives(server.extra.pod_patch, f"servers[{index}].extra.pod_patch")
    if len(server.name) + LONGEST_SUFFIX > LABEL_LIMIT:
        room = LABEL_LIMIT - LONGEST_SUFFIX
        yield (
            f"servers[{index}].name",
            f"{server.name!r} has {len(server.name)} characters; at most {room} leave room for what we append",
        )


def _store_references(config: ClusterConfig, stores: list[str]) -> Iterator[tuple[str, str]]:
    kinds = {store.name: store.kind for store in config.stores}
    for index, store in enumerate(config.stores):
        if store.source is None:
            continue
        if store.source not in stores:
            yield f"stores[{index}].source", f"{store.source!r} is not a store of this stack; stores: {_listed(stores)}"
        elif kinds[store.source] is StoreKind.BUCKET:
            yield (
                f"stores[{index}].source",
                f"{store.source!r} is a bucket, of which no pod can copy: fetch it into a claim (prefetch.source)",
            )
        elif kinds[store.source] in (StoreKind.NODE_SYNC, StoreKind.HOST_PATH, StoreKind.LOCAL):
            yield f"stores[{index}].source", f"{store.source!r} is on single nodes itself; copy from a store that every node reaches"


def _nodes_of_two_pools(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """Nodes that an earlier pool has: their labels would be those of whichever is applied last."""
    owners: dict[str, str] = {}
    for index, pool in enumerate(config.pools):
        for place, name in enumerate(pool.node_names):
            if owners.setdefault(name, pool.name) != pool.name:
                yield f"pools[{index}].node_names[{place}]", f"{name!r} is a node of pool {owners[name]} already; a node has one pool"


def _unpinned(config: ClusterConfig) -> Iterator[tuple[str, str]]:
    """Images that the config names without a digest; those of the tracks are the catalog's to pin."""
    images = [("platform.gpu_layer.image", config.platform.gpu_layer.image)]
    images += [(f"servers[{index}].image.reference", server.image.reference) for index, server in enumerate(config.servers)]
    for index, store in enumerate(config.stores):
        images += [(f"stores[{index}].image", store.image)]
        images += [(f"stores[{index}].prefetch[{place}].image", each.image) for place, each in enumerate(store.prefetch)]
    for path, image in images:
        if image and not image_reference(image).digest:
            why = f"{image!r} has no digest, and a tag can be moved under a running service"
            yield path, f"{why}: with production: true write {image_reference(image).name}:TAG@sha256:..."


def _duplicates(kind: str, names: list[str]) -> Iterator[tuple[str, str]]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"{kind}[{index}].name", f"{name!r} is already the name of {kind}[{names.index(name)}]; names are unique"


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _kind(data: object) -> str:
    named = {str: "text", list: "a list", type(None): "empty", bool: "true or false", int: "a number", float: "a number"}
    return named.get(type(data), f"a {type(data).__name__}")


def _taken(config: ClusterConfig, index: int) -> Iterator[tuple[str, str]]:
    """A host and path that an earlier server has at the same gateway: one of the two gets every request, whatever model they name."""
    own = config.servers[index].route
    for other in config.servers[:index]:
        route = other.route
        if own is None or route is None or (own.host, own.entry) != (route.host, route.entry):
            continue
        both = [path for path in own.shown if path in route.shown]
        if both:
            shown = f"{own.host}{both[0]} leads to server {other.name} already: one of the two would get every request"
            yield f"servers[{index}].route.host", f"{shown}; give each a host or a prefix of its own"
            return


def _directives(patch: Any, path: str) -> Iterator[tuple[str, str]]:
    """Keys such as ``$patch``, which kubectl obeys: here they would become fields of the pod."""
    pairs = patch.items() if isinstance(patch, Mapping) else ()
    for key, value in pairs:
        if str(key).startswith("$"):
            yield f"{path}.{key}", f"{key} is kubectl's: null removes a field here, and a list without names is replaced"
        else:
            yield from _directives(value, f"{path}.{key}")
    for at, item in enumerate(patch if isinstance(patch, list | tuple) else ()):
        yield from _directives(item, f"{path}[{at}]")
