"""Writes components/arguments: the config's models as TypedDicts, so that a component's arguments are the config's own words.

usage: python -m tools.component_arguments

Where a value only flows into the objects the field takes a ``pulumi.Input``; everywhere else it decides something and is plain.
"""

import enum
import textwrap
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from interlock.infra.config.access import ServerAccess
from interlock.infra.config.adapters import Adapter, AdaptersConfig
from interlock.infra.config.cluster import WaiverConfig
from interlock.infra.config.exposure import RouteConfig
from interlock.infra.config.models import ImageConfig, ModelConfig
from interlock.infra.config.monitoring import MonitoringConfig, PrometheusConfig
from interlock.infra.config.network import NetworkConfig, PeerConfig
from interlock.infra.config.platform import GpuLayerConfig, PriorityClassConfig
from interlock.infra.config.pools import DomainConfig, KarpenterConfig, PoolConfig, ShareConfig
from interlock.infra.config.ray import RayServiceConfig, RedisConfig
from interlock.infra.config.runtime import RuntimeConfig
from interlock.infra.config.scaling import AutoscaleConfig, RolloutConfig, ScheduleConfig, WakeConfig
from interlock.infra.config.servers import ExtraConfig, ServerConfig
from interlock.infra.config.stores import PrefetchConfig, StoreConfig
from interlock.infra.config.tenants import TenantConfig
from interlock.infra.config.transfer import TransferConfig
from interlock.infra.config.wishes import WishesConfig
from interlock.infra.described import texts
from interlock.infra.engine.args import EngineArgs
from interlock.infra.engine.options import MANAGED, SWITCHES, Option, about, newest, options
from tools.common import ROOT, run_main

FOLDER = ROOT / "components" / "arguments"
_MODEL = "ModelConfig MultiModalConfig LoRAConfig LoadConfig SpeculativeConfig StructuredOutputsConfig AuxOutputConfig"
ENGINE: dict[str, tuple[str, frozenset[str]]] = {
    "engine_model": ("of the model, its adapters and its loading", frozenset(_MODEL.split())),
    "engine_server": ("of the HTTP server", frozenset(("BaseFrontendArgs", "FrontendArgs", ""))),
    "engine_run": ("of memory, ranks and steps", frozenset()),
    "engine_former": ("that only older versions have", frozenset()),
}
"""Arguments of the engine that the config takes by name without a field of its own, by vLLM's classes; the third has all others."""
PLANNED = "PlannedEngineSettings"
"""The TypedDict of the arguments that have a field of their own."""
FILES: dict[str, tuple[str, tuple[type[BaseModel], ...]]] = {
    "engine": ("Engine flags by vLLM's own names.", (EngineArgs,)),
    "servers": (
        "A server as the config describes it.",
        (
            *(ModelConfig, ImageConfig, RouteConfig, RuntimeConfig, RolloutConfig),
            *(WishesConfig, TransferConfig, ExtraConfig, ServerAccess, Adapter, AdaptersConfig, ServerConfig),
        ),
    ),
    "scaling": ("Autoscaling as the config describes it.", (ScheduleConfig, WakeConfig, AutoscaleConfig)),
    "pools": ("A pool as the config describes it.", (ShareConfig, KarpenterConfig, DomainConfig, PoolConfig)),
    "ray": ("A RayService as the config describes it.", (RedisConfig, RayServiceConfig)),
    "stores": ("A store as the config describes it.", (PrefetchConfig, StoreConfig)),
    "cluster": (
        "Cluster-wide parts, tenants, network, monitoring, waivers, as the config has them.",
        (
            *(GpuLayerConfig, PriorityClassConfig, TenantConfig, PeerConfig, NetworkConfig, PrometheusConfig, MonitoringConfig),
            WaiverConfig,
        ),
    ),
}
FLOWS: dict[type[BaseModel], tuple[str, ...]] = {
    ServerConfig: ("hub_token_secret",),
    ImageConfig: ("pull_secrets",),
    GpuLayerConfig: ("pull_secrets",),
    RouteConfig: ("host", "gateway", "gateway_namespace", "tls_secret"),
    RayServiceConfig: ("token_secret",),
    RedisConfig: ("secret",),
    PrometheusConfig: ("url", "secret", "ca_secret"),
    StoreConfig: ("claim", "server", "handle", "secret"),
}
"""Fields whose value no decision and no rule reads: names and addresses of what somebody else makes."""
NAMED_BY_THE_COMPONENT: dict[type[BaseModel], tuple[str, ...]] = {
    ServerConfig: ("name", "pool"),
    StoreConfig: ("name",),
    TenantConfig: ("name",),
}
"""Fields that the config requires and a component fills in from its own name and arguments."""


def name_of(model: type[BaseModel]) -> str:
    """Name of the TypedDict: ``ServerConfig`` is ``ServerSettings``."""
    return model.__name__.removesuffix("Config").removesuffix("Args") + "Settings"


def models() -> Iterator[type[BaseModel]]:
    """All models that have a TypedDict."""
    for _, listed in FILES.values():
        yield from listed


def text_of(annotation: Any) -> tuple[str, set[Any]]:
    """(annotation as a TypedDict writes it, classes it names)."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        parts = [each for each in inner if each is not type(None)]
        # The schema of a package knows no unions: of a path or content, the content; of several scalars, any.
        mapping = [each for each in parts if typing.get_origin(each) is dict]
        return text_of(parts[0] if len(parts) == 1 else mapping[0] if mapping else Any)
    if origin is typing.Annotated:
        return text_of(inner[0])
    if origin is typing.Literal:
        return "str", set()
    if origin is tuple:
        text, named = text_of(inner[0])
        return f"list[{text}]", named
    if origin is dict:
        text, named = text_of(inner[1])
        return f"dict[str, {text}]", named
    if annotation is Any:
        return "Any", {Any}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return name_of(annotation), {annotation}
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return annotation.__name__, {annotation}
    return ("str", set()) if annotation.__name__ == "date" else (str(annotation.__name__), set())


def field_lines(model: type[BaseModel], name: str, field: FieldInfo) -> tuple[list[str], set[Any]]:
    """Lines of one field, and the classes that it names."""
    text, named = text_of(field.annotation)
    if name in FLOWS.get(model, ()):
        # Of a list each item flows: how many there are decides what is made.
        text = f"list[pulumi.Input[{text[5:-1]}]]" if text.startswith("list[") else f"pulumi.Input[{text}]"
        named |= {"pulumi"}
    if not field.is_required() or name in NAMED_BY_THE_COMPONENT.get(model, ()):
        text, named = f"NotRequired[{text}]", named | {"NotRequired"}
    return [f"    {name}: {text}", *_docstring(texts(model).get(name, ""), 4)], named


def _docstring(text: str, indent: int) -> list[str]:
    room = " " * indent
    return [f'{room}"""' + text.replace("\n", f"\n{room}") + '"""']


def group_of(option: Option) -> str:
    """The module of ``ENGINE`` that has an argument of the engine."""
    if option.until != newest():
        return "engine_former"
    return next((name for name, (_, classes) in ENGINE.items() if option.config in classes), "engine_run")


def type_of(option: Option) -> str:
    """Its type as a TypedDict writes it; a value of several shapes is Any."""
    if option.kind in SWITCHES:
        return "bool"
    if option.kind == "list" or isinstance(option.default, list):
        return "list[Any]"
    return {"int": "int", "float": "float", "str": "str"}.get(option.type if not option.structured else "", "Any")


def engine_module(name: str) -> str:
    """The text of one module of arguments of the engine."""
    fields = [each for each in options().values() if each.name not in {*MANAGED, *EngineArgs.model_fields} and group_of(each) == name]
    lines = [f'"""Arguments of the engine {ENGINE[name][0]}. Written by `python -m tools.component_arguments`."""']
    lines += ["", "from typing import Any, NotRequired, TypedDict", "", "", f"class {class_of(name)}(TypedDict):"]
    lines += [f'    """Arguments of the engine {ENGINE[name][0]}, by vLLM\'s own names."""', ""]
    for each in sorted(fields, key=lambda one: one.name):
        lines += [f"    {each.name}: NotRequired[{type_of(each)}]", *_docstring("\n".join(textwrap.wrap(about(each), 130)), 4)]
    return "\n".join([*lines, ""])


def class_of(name: str) -> str:
    """Name of the TypedDict of a module of ``ENGINE``."""
    return "".join(word.title() for word in name.split("_")) + "Settings"


def module(name: str) -> str:
    """The text of one module."""
    if name in ENGINE:
        return engine_module(name)
    about_it, listed = FILES[name]
    body: list[str] = []
    named: set[Any] = set()
    for model in listed:
        own = PLANNED if model is EngineArgs else name_of(model)
        body += ["", "", f"class {own}(TypedDict):", *_docstring((model.__doc__ or "").strip(), 4), ""]
        for field, info in model.model_fields.items():
            lines, more = field_lines(model, field, info)
            body += lines
            named |= more
    if EngineArgs in listed:
        bases = ", ".join((PLANNED, *map(class_of, ENGINE)))
        body += ["", "", f"class {name_of(EngineArgs)}({bases}):", '    """All arguments of the engine, by vLLM\'s own names."""']
    head = f'"""{about_it} Written by `python -m tools.component_arguments`."""'
    return "\n".join([head, "", *_imports(name, named, set(listed)), *body, ""])


def _imports(name: str, named: set[Any], own: set[type[BaseModel]]) -> list[str]:
    words = ["Any"] * (Any in named) + ["NotRequired"] * ("NotRequired" in named) + ["TypedDict"]
    lines = [f"from typing import {', '.join(words)}", *(["", "import pulumi"] if "pulumi" in named else [])]
    places = {each: file for file, (_, listed) in FILES.items() for each in listed}
    found: dict[str, list[str]] = {}
    for each in named - own - {Any, "pulumi", "NotRequired"}:
        place = f"interlock.components.arguments.{places[each]}" if each in places else each.__module__
        found.setdefault(place, []).append(name_of(each) if each in places else each.__name__)
    if name == "engine":
        found |= {f"interlock.components.arguments.{each}": [class_of(each)] for each in ENGINE}
    ours = [f"from {place} import {', '.join(sorted(names))}" for place, names in sorted(found.items())]
    return [*lines, *(["", *ours] if ours else [])]


def main(arguments: list[str]) -> int:
    FOLDER.mkdir(exist_ok=True)
    for name in (*ENGINE, *FILES):
        (FOLDER / f"{name}.py").write_text(module(name), "utf-8")
    return 0


if __name__ == "__main__":
    run_main(main)
