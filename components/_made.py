"""How every component comes to its objects: arguments -> config -> plan -> judgement -> objects, before anything is registered."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pulumi

from interlock.components._given import Flows, Given
from interlock.components._k8s import apply
from interlock.infra.config import ClusterConfig, load
from interlock.infra.errors import ConfigError, InterlockError, Problem
from interlock.infra.manifests.placed import Draft
from interlock.infra.manifests.sets import ObjectSet
from interlock.infra.naming import label_value_problem
from interlock.infra.paths import within
from interlock.infra.plan.plan import plan
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import judged
from interlock.infra.rules.findings import Severity
from interlock.infra.rules.settings import stated_problems

Objects = TypeVar("Objects", bound=ObjectSet)

ANY_POOL = {"name": "any", "gpu": "h100-80gb-sxm", "gpus_per_node": 16, "nodes": 1000, "cpu": "1024", "memory": "64Ti"}
"""Stands where a config must have a pool and a component has none."""
NOWHERE = {"context": "the provider of the program"}
"""Stands where a config names the cluster: a component's provider is the program's."""


def stand_in(name: str) -> dict[str, Any]:
    """A server that stands in the config for one that somebody else made, of whose model nothing is known."""
    return {"name": name, "pool": ANY_POOL["name"], "model": {"id": "any", "unsized": "somebody else's server"}}


@dataclass(frozen=True, slots=True)
class Recipe(Generic[Objects]):
    """What differs from component to component."""

    component: str
    """Name of the class."""
    arguments: type
    """TypedDict of the arguments."""
    config: Callable[[str, Given], dict[str, Any]]
    """Name and arguments as the data of a config. Raises ConfigError for arguments that contradict each other."""
    build: Callable[[ClusterConfig, ClusterPlan, Mapping[str, Any]], tuple[Objects, Sequence[Draft]]]
    """The objects, from the same builders as a stack's, and what is judged: they, and what stands around them."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Argument by the field of the config that it became: ``server`` by ``servers[0]``."""
    tells: tuple[str, ...] = ()
    """Arguments whose findings are told; empty = all. For components whose config has parts that stand in for somebody else's."""


@dataclass(frozen=True, slots=True)
class Planned(Generic[Objects]):
    """Objects that a program has planned and judged as a whole; a component takes them in place of arguments."""

    objects: Objects


def planned(objects: ObjectSet) -> Any:
    """``objects`` as the argument of a component."""
    return Planned(objects)


@dataclass(frozen=True, slots=True)
class Made(Generic[Objects]):
    """The objects of one component, and the outputs that flow into them."""

    objects: Objects
    flows: Flows = field(default_factory=Flows)

    def apply(self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.Resource:
        """Registers one object."""
        return apply(name, self.flows.put(manifest), opts)

    def output(self, value: Any) -> pulumi.Output[Any]:
        """``value`` as an output of the component."""
        return pulumi.Output.from_input(self.flows.put(value))


def make(recipe: Recipe[Objects], name: str, args: Any) -> Made[Objects]:
    """The objects that ``args`` ask for. Raises pulumi.RunError with everything that is wrong, before anything is registered."""
    if isinstance(args, Planned):
        return Made(args.objects)
    who = f"{recipe.component} {name!r}"
    given = Given(who).read(args, recipe.arguments)
    values = {"name": name, **given.values}
    stack = values.get("stack") or pulumi.get_stack()
    if problem := label_value_problem(str(stack)):
        given.wrong("stack", f"{problem}; give another name as the argument stack")
    try:
        config = _config(recipe, name, given)
        decided = plan(config, stack)
        objects, drafts = recipe.build(config, decided, values)
        seen = judged(config, decided, drafts, today=dt.date.today())
        # Only now it is known which objects carry a waiver.
        objects = recipe.build(config, seen, values)[0] if seen.waived else objects
    except InterlockError as error:
        raise pulumi.RunError(_problems(who, error, recipe.words)) from None
    _tell(who, seen, recipe)
    return Made(objects, Flows(given.outputs))


def _config(recipe: Recipe[Any], name: str, given: Given) -> ClusterConfig:
    """The config that the arguments make. Raises ConfigError with the problems of both."""
    problems = list(given.problems)
    if not given.unreadable:
        try:
            config = load({"target": NOWHERE, **recipe.config(name, given), **_common(given.values, recipe.words)})
        except ConfigError as error:
            problems += [each for each in error.problems if not any(within(each.path, known.path) for known in given.problems)]
        else:
            problems += [Problem(*each) for each in stated_problems(config.rules, [waiver.code for waiver in config.waivers])]
            if not problems:
                return config
    raise ConfigError(problems)


def _common(values: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """What every component takes and hands on: waivers, whose paths are told in the config's fields, and settings of rules."""
    waivers = [
        {**each, "path": _field(each.get("path", "*"), words)} if isinstance(each, Mapping) else each for each in values.get("waivers", ())
    ]
    return {"waivers": waivers, "rules": values.get("rules", {}), "production": values.get("production", False)}


def _field(path: str, words: Mapping[str, str]) -> str:
    """The config's field that an argument became."""
    return next((field_ + path.removeprefix(argument) for field_, argument in words.items() if within(path, argument)), path)


def _problems(who: str, error: InterlockError, words: Mapping[str, str]) -> str:
    problems = error.problems if isinstance(error, ConfigError) else (Problem("", str(error)),)
    return "\n".join(f"{who}: {told(str(each), words)}" for each in problems)


def told(text: str, words: Mapping[str, str]) -> str:
    """``text`` with the arguments of the component in place of the config's fields."""
    for field_, argument in words.items():
        text = text.replace(field_, argument)
    return text


def _tell(who: str, seen: ClusterPlan, recipe: Recipe[Any]) -> None:
    """Raises with every error that nobody waived; logs the rest."""
    findings = [(each, told(each.text(), recipe.words)) for each in seen.findings if _is_told(each.path, recipe)]
    refused = [text for each, text in findings if each in seen.refused]
    if refused:
        count = f"{len(refused)} contradiction{'s' if len(refused) > 1 else ''}"
        raise pulumi.RunError(f"{who}: {count}, nothing of it was made:\n\n" + "\n\n".join(refused) + "\n")
    for each, text in findings:
        log = pulumi.log.info if each.severity is Severity.INFO or each.waiver else pulumi.log.warn
        log(f"{who}: {text}")


def _is_told(path: str, recipe: Recipe[Any]) -> bool:
    return not recipe.tells or any(within(told(path, recipe.words), each) for each in recipe.tells)


def formerly(class_name: str, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
    """``opts`` with the type that the component had before it was renamed; its children follow it."""
    return pulumi.ResourceOptions.merge(pulumi.ResourceOptions(aliases=[pulumi.Alias(type_=f"interlock:index:{class_name}")]), opts)


def register(component: pulumi.ComponentResource) -> None:
    """Registers the outputs of ``component``: all that its class annotates."""
    component.register_outputs({name: getattr(component, name) for name in type(component).__annotations__})
