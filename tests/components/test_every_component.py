"""What holds for every component alike, for those to come as well."""

import importlib
import inspect
import pkgutil
from functools import partial
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest

import interlock.components
from interlock.components.gpu_sharing import GpuSharing
from interlock.components.host import provider
from interlock.components.model_route import ModelRoute
from interlock.components.package import COMPONENTS
from interlock.components.queue_autoscaler import QueueAutoscaler
from tests.support import changed
from tests.support.components import CASES, Case
from tests.support.monitor import Run, later, run, unknown

each_component = pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind.__name__)
FLOWS = [(case, path) for case in CASES for path in case.flows]
each_flow = pytest.mark.parametrize(("case", "path"), FLOWS, ids=[f"{case.kind.__name__}-{path}" for case, path in FLOWS])


def with_changes(case: Case, changes: Any) -> dict[str, Any]:
    args = dict(case.args)
    for path, value in changes.items():
        args = changed(args, path, value)
    return args


def made(case: Case, changes: Any = None, name: str = "it", opts: pulumi.ResourceOptions | None = None) -> pulumi.ComponentResource:
    kind: Any = case.kind
    component: pulumi.ComponentResource = kind(name, flowing(with_changes(case, changes or {})), opts)
    return component


def flowing(value: Any) -> Any:
    """A copy in which everything that can be called is replaced by what it makes: outputs belong to the program that runs."""
    if isinstance(value, dict):
        return {key: flowing(item) for key, item in value.items()}
    if isinstance(value, list):
        return [flowing(item) for item in value]
    return value() if callable(value) else value


def alone(case: Case, changes: Any = None, opts: pulumi.ResourceOptions | None = None, preview: bool = False) -> Run:
    return run(lambda: made(case, changes, opts=opts), preview=preview)


def test_every_component_is_served_by_the_package_and_has_a_case() -> None:
    names = [each.name for each in pkgutil.iter_modules(interlock.components.__path__) if each.name != "__main__"]
    modules = [importlib.import_module(f"interlock.components.{name}") for name in names]
    classes = {member for module in modules for _, member in inspect.getmembers(module, inspect.isclass)}
    there = {each for each in classes if issubclass(each, pulumi.ComponentResource) and each.__module__.startswith("interlock.components.")}
    assert there == set(COMPONENTS) == {case.kind for case in CASES}
    assert len({each.__module__ for each in there}) == len(there), "one component per file"


@each_component
def test_every_object_is_a_child_of_its_component(case: Case) -> None:
    seen = alone(case)
    (component,) = seen.components(case.kind.__name__)
    assert seen.objects
    assert {each.request.parent for each in seen.objects} == {component.urn}


@each_component
def test_no_two_objects_share_kind_namespace_and_name(case: Case) -> None:
    objects = [each.identity for each in alone(case).objects]
    assert len(set(objects)) == len(objects)


@each_component
def test_outputs_are_registered_as_annotated_documented_and_set(case: Case) -> None:
    component: dict[str, Any] = {}
    seen = run(lambda: component.update(it=made(case)))
    (registered,) = [names for urn, names in seen.outputs.items() if "interlock:index:" in urn]
    annotated = set(case.kind.__annotations__)
    assert registered == annotated
    assert all(isinstance(getattr(component["it"], name), pulumi.Output) for name in annotated)
    described = provider([case.kind])._component_defs[case.kind.__name__].outputs
    assert [name for name, output in described.items() if not output.description] == []


@each_component
def test_the_same_arguments_give_the_same_objects_twice(case: Case) -> None:
    assert alone(case).plain() == alone(case).plain()


@each_component
def test_two_in_one_program_share_no_object(case: Case) -> None:
    seen = run(lambda: (made(case), made(case, case.other, "second")))
    objects = [each.identity for each in seen.objects]
    assert len(set(objects)) == len(objects)
    assert len({each.urn for each in seen.resources}) == len(seen.resources)


@each_component
def test_renamed_with_an_alias_nothing_changes_where_the_names_of_its_objects_are_stated(case: Case) -> None:
    """The engine finds a child under its former name when that begins with the former name of its parent."""
    flows: dict[str, Any] = {path: partial(later, value) for path, value in case.flows.items()}
    before = run(lambda: made(case, {**flows, **case.named}))
    after = run(lambda: made(case, {**flows, **case.named}, "that", pulumi.ResourceOptions(aliases=[pulumi.Alias(name="it")])))
    assert "it" in [each.spec.name for each in after.components(case.kind.__name__)[0].request.aliases]
    former = {each.request.name.replace("that", "it", 1): each.inputs for each in after.objects if each.request.name.startswith("that")}
    assert former == {each.request.name: each.inputs for each in before.objects}


def test_all_components_of_one_name_in_one_namespace_share_no_object() -> None:
    """But for what a server or a pool makes itself where nobody else does: its route, its scaler, the layer's configs."""
    alone_there = (ModelRoute, QueueAutoscaler, GpuSharing)
    cases = [case for case in CASES if case.kind not in alone_there]
    seen = run(lambda: [made(case) for case in cases])
    objects = [each.identity for each in seen.objects]
    assert [each for each in objects if objects.count(each) > 1] == []
    assert len([each for each in objects if each[0] == "ConfigMap" and "-runtime-" in each[2]]) == 2, "a server's and a store's"


class Outer(pulumi.ComponentResource):
    """Somebody else's component."""

    def __init__(self, case: Case, opts: pulumi.ResourceOptions) -> None:
        super().__init__("own:index:Outer", "outer", {}, opts)
        made(case, opts=pulumi.ResourceOptions(parent=self))
        self.register_outputs({})


@each_component
def test_inside_another_component_it_takes_that_ones_provider_and_its_protection(case: Case) -> None:
    def program() -> None:
        on = k8s.Provider("other", kubeconfig="{}")
        Outer(case, pulumi.ResourceOptions(providers={"kubernetes": on}, protect=True))

    seen = run(program)
    (component,) = seen.components(case.kind.__name__)
    assert component.request.parent.endswith("own:index:Outer::outer")
    assert {each.request.parent for each in seen.objects} == {component.urn}
    assert all("pulumi:providers:kubernetes::other" in each.request.provider for each in seen.objects)
    assert all(each.request.protect for each in seen.objects)


@each_component
def test_options_of_the_component_reach_it_and_transformations_its_children(case: Case) -> None:
    reached: list[str] = []

    def watch(args: pulumi.ResourceTransformationArgs) -> None:
        reached.append(args.name)

    options = pulumi.ResourceOptions(
        aliases=[pulumi.Alias(name="before")], ignore_changes=["x"], retain_on_delete=True, protect=True, transformations=[watch]
    )
    seen = alone(case, opts=options)
    (component,) = seen.components(case.kind.__name__)
    assert "before" in [each.spec.name for each in component.request.aliases]
    assert component.request.ignoreChanges == ["x"]
    assert component.request.retainOnDelete
    assert all(each.request.protect for each in seen.objects)
    assert sorted(reached) == sorted(each.request.name for each in seen.resources)


@each_component
def test_everything_wrong_is_one_error_before_anything_is_registered(case: Case) -> None:
    seen = Run()

    def refused(changes: dict[str, Any]) -> str:
        with pytest.raises(pulumi.RunError) as error:
            seen.resources += run(lambda: made(case, changes)).resources
        return str(error.value)

    who = f"{case.kind.__name__} 'it': "
    assert refused({case.missing: None}).startswith(f"{who}{case.missing}: is required and missing")
    near = refused({f"{case.missing[:-1]}x": 1})
    assert f"{who}{case.missing[:-1]}x: unknown argument; did you mean {case.missing}?" in near
    assert f"{who}{case.missing}: 3 is not " in refused({case.missing: 3})
    told = refused(dict(case.wrong))
    assert who in told
    assert case.says in told
    assert "pydantic" not in told
    both = refused({**case.wrong, "unheard_of": 1})
    assert "unheard_of: unknown argument; arguments: " in both
    assert seen.resources == []


@each_component
def test_an_argument_that_decides_must_be_known(case: Case) -> None:
    with pytest.raises(pulumi.RunError, match=r"stack: is an output, and it decides what is made: give a plain value"):
        run(lambda: made(case, {"stack": lambda: later("dev")}))


@each_component
def test_everything_flows_at_once_and_gives_what_plain_values_give(case: Case) -> None:
    flows = {path: partial(later, value) for path, value in case.flows.items()}
    assert alone(case, flows).plain() == alone(case, dict(case.flows)).plain()


@each_flow
def test_a_value_that_a_preview_does_not_know_neither_raises_nor_hides_a_certain_error(case: Case, path: str) -> None:
    objects = alone(case, {path: unknown}, preview=True).objects
    assert [each.urn for each in objects] == [each.urn for each in alone(case, preview=True).objects]
    with pytest.raises(pulumi.RunError) as error:
        alone(case, {**case.wrong, path: unknown}, preview=True)
    assert case.says in str(error.value)


@each_flow
def test_an_output_that_holds_no_text_is_told_by_its_argument(case: Case, path: str) -> None:
    with pytest.raises(pulumi.RunError, match="is not a name; the output must hold text") as error:
        alone(case, {path: lambda: later(7)})
    assert f"{case.kind.__name__} 'it': {path}: 7 " in str(error.value)


@each_component
def test_every_place_for_an_output_is_tried(case: Case) -> None:
    definitions = provider([case.kind])
    (component,) = definitions._component_defs.values()
    places = set(_flowing_places(component.inputs, definitions, ""))
    tried = {path.replace("[0]", "") for path in case.flows}
    assert {place for place in places if _given(case.args, place)} == tried


def _flowing_places(properties: Any, definitions: Any, path: str) -> Any:
    for name, wanted in properties.items():
        place = f"{path}.{_snake(name)}" if path else _snake(name)
        inner = wanted.items or wanted
        definition = definitions.get_type_definition(inner) if inner.ref and ":" in inner.ref else None
        if definition and not definition.enum:
            yield from _flowing_places(definition.properties, definitions, place)
        elif not inner.plain:
            yield place


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _given(args: Any, place: str) -> bool:
    for key in place.split("."):
        args = args[0] if isinstance(args, list) else args
        if key not in args:
            return False
        args = args[key]
    return True
