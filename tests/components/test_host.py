"""The package's host: what arrives in a constructor, for every fault of the SDK's own host."""

from enum import StrEnum
from typing import Any, NotRequired, TypedDict

import pulumi
import pytest
from pulumi.errors import InputPropertiesError
from pulumi.provider.experimental.component import ComponentProvider

from interlock.components.host import Host, provider
from interlock.components.package import COMPONENTS
from tests.support.monitor import later, run


class Size(StrEnum):
    """A size."""

    SMALL = "small"
    LARGE = "large"


class Door(TypedDict):
    """A door."""

    door_number: int
    """Its number."""


class ToyArgs(TypedDict):
    """What a Toy is made of."""

    whole: int
    """An integer."""
    title: NotRequired[str]
    """Text."""
    some: NotRequired[list[int]]
    """Integers."""
    size: NotRequired[Size]
    """A size."""
    sizes: NotRequired[list[Size]]
    """Sizes."""
    size_by_name: NotRequired[dict[str, Size]]
    """Sizes by name."""
    rooms: NotRequired[list[list[Door]]]
    """Doors by room."""
    anything: NotRequired[dict[str, Any]]
    """Data of any shape."""
    weight: NotRequired[pulumi.Input[int]]
    """An integer that flows."""
    grade: NotRequired[pulumi.Input[Size]]
    """A size that flows."""
    door: NotRequired[pulumi.Input[Door]]
    """A door that flows."""


class Toy(pulumi.ComponentResource):
    """Keeps what it was given."""

    given: Any

    def __init__(self, name: str, args: ToyArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        if args["whole"] == 13:
            raise pulumi.RunError("13 is refused\n  fix: take 12")
        super().__init__("interlock:index:Toy", name, {}, opts)


@pytest.fixture(scope="module")
def host() -> Host:
    return provider([Toy])


def given(host: Host, **inputs: Any) -> dict[str, Any]:
    return host.arguments("Toy", {"whole": 1.0, **inputs})


def test_an_integer_is_one_also_in_lists_and_in_data_of_any_shape(host: Host) -> None:
    read = given(host, some=[2.0], anything={"tokens": 8192.0, "ratio": 0.5, "list": [1.0, True]})
    assert read == {"whole": 1, "some": [2], "anything": {"tokens": 8192, "ratio": 0.5, "list": [1, True]}}
    numbers = [read["whole"], *read["some"], read["anything"]["tokens"], read["anything"]["list"][0]]
    assert [type(each) for each in numbers] == [int] * 4
    assert read["anything"]["list"][1] is True


@pytest.mark.parametrize("value", [2.5, True, "2", [1.0], {"a": 1.0}])
def test_what_is_no_integer_is_handed_on_for_the_component_to_tell(host: Host, value: Any) -> None:
    assert given(host, whole=value)["whole"] == value


def test_enums_arrive_as_members_alone_in_lists_and_in_mappings(host: Host) -> None:
    read = given(host, size="small", sizes=["small", "large"], sizeByName={"a": "large"})
    assert (read["size"], read["sizes"], read["size_by_name"]) == (Size.SMALL, [Size.SMALL, Size.LARGE], {"a": Size.LARGE})
    assert given(host, sizes=["huge", {"a": "b"}])["sizes"] == ["huge", {"a": "b"}], "the component tells what it takes"


def test_keys_of_nested_lists_are_the_python_ones(host: Host) -> None:
    assert given(host, rooms=[[{"doorNumber": 7.0}]])["rooms"] == [[{"door_number": 7}]]


def test_an_unknown_key_is_handed_on_as_python_would_write_it_and_a_missing_one_is_not_made_up(host: Host) -> None:
    read = host.arguments("Toy", {"titelOfIt": "x", "door": {"doorNumbr": 1.0}})
    assert read == {"titel_of_it": "x", "door": {"door_numbr": 1}}


def test_an_output_that_flows_stays_one_and_has_its_type_when_it_is_known(host: Host) -> None:
    def program() -> dict[str, Any]:
        return given(host, weight=later(5.0), grade=later("large"), door=pulumi.Output.secret({"doorNumber": 3.0}))

    seen = run(program).values
    assert (seen["weight"], seen["grade"], seen["door"]) == (5, Size.LARGE, {"door_number": 3})
    assert isinstance(seen["weight"], int)


@pytest.mark.parametrize("key", ["whole", "title", "size"])
def test_an_output_where_a_plain_value_decides_is_left_for_the_component_to_refuse(host: Host, key: str) -> None:
    run(lambda: isinstance(given(host, **{key: later("small")})[key], pulumi.Output) or pytest.fail("it was resolved"))


def test_a_refusal_of_a_constructor_is_its_text_alone(host: Host) -> None:
    with pytest.raises(InputPropertiesError) as error:
        run(lambda: host.construct("t", "interlock:index:Toy", {"whole": 13.0}))
    assert error.value.message == "13 is refused\n  fix: take 12"


def test_the_faults_are_still_the_sdks_own() -> None:
    """When one is gone from the SDK, the host can do less."""
    sdk = ComponentProvider([Toy], "interlock", None, "0.1.0")
    read: Any = sdk.map_inputs({"whole": 1.0, "sizes": ["small"], "titel": 1}, sdk._component_defs["Toy"])
    assert isinstance(read["whole"], float)
    assert read["sizes"] == [{}]
    assert "titel" not in read


def test_the_package_serves_every_component() -> None:
    assert list(provider(COMPONENTS)._component_defs) == [each.__name__ for each in COMPONENTS]
