"""The base of everything a person writes."""

from collections.abc import Callable
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from interlock.infra.catalog.images import reference_problem
from interlock.infra.naming import check_name, host_problem, label_key_problem, label_value_problem, subdomain_problem
from interlock.infra.values import MIB, quantity


class Config(BaseModel):
    """Frozen, closed to unknown keys; the docstring under each field is its published description."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool):
            hint = cls.model_fields[str(info.field_name)].annotation
            kinds: tuple[Any, ...] = get_args(hint) or (hint,)
            if (int in kinds or float in kinds) and bool not in kinds:
                raise ValueError(f"{value}: a number is meant")
        return value


def checked(problem_of: Callable[[str], str | None]) -> AfterValidator:
    """Refuses a text of which ``problem_of`` says something."""

    def check(value: str) -> str:
        problem = problem_of(value)
        if problem:
            raise ValueError(problem)
        return value

    return AfterValidator(check)


def _spaced(value: str) -> str | None:
    if value != value.strip() or not value.isprintable():
        return f"{value!r} begins or ends with a space, or holds a character that cannot be printed"
    return None


def _text_of(value: Any) -> Any:
    """A quantity as YAML gives it: ``96`` is a number there and the quantity "96" here."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _prefix(value: str) -> str | None:
    if not value.startswith("/") or not value.isprintable() or " " in value or "//" in value:
        return f"{value!r} is not a path prefix such as /v1: it begins with /, without spaces and empty parts"
    return None


def _positive(value: str) -> str:
    found = quantity(value)
    if found <= 0:
        raise ValueError(f"{value!r} is not above zero")
    if found >= _LARGEST:
        raise ValueError(f"{value[:40]!r} is larger than Kubernetes can hold (8Ei)")
    return value


def _with_unit(value: str) -> str:
    if quantity(value) < MIB:
        raise ValueError(f"{value!r} is less than 1Mi: a unit is missing, as in {value.rstrip('mkKi')}Gi")
    return value


# apimachinery/pkg/api/resource: a quantity is a 64-bit integer of its smallest unit.
_LARGEST = 2**63

Name = Annotated[str, Field(min_length=1, json_schema_extra={"format": "dns-label"}), checked(check_name)]
"""A name that becomes part of Kubernetes names: a DNS label."""

Quantity = Annotated[
    str,
    Field(json_schema_extra={"format": "quantity"}),
    BeforeValidator(_text_of, json_schema_input_type=str | float),
    AfterValidator(_positive),
]
"""A Kubernetes quantity above zero, such as ``500m`` or ``16Gi``, or a plain number."""

Bytes = Annotated[str, Field(json_schema_extra={"format": "quantity"}), AfterValidator(_positive), AfterValidator(_with_unit)]
"""An amount of memory or storage, such as ``16Gi``."""

ObjectName = Annotated[str, checked(subdomain_problem)]
"""The name of something that is there already: a node, a Secret, a class."""

HostName = Annotated[str, Field(min_length=1), checked(host_problem)]
"""The host name of a route."""

PathPrefix = Annotated[str, checked(_prefix)]
"""The beginning of a URL's path."""

LabelKey = Annotated[str, checked(label_key_problem)]
LabelValue = Annotated[str, checked(label_value_problem)]

Image = Annotated[str, checked(reference_problem)]
"""An image reference."""

Plain = Annotated[str, Field(min_length=1), checked(_spaced)]
"""Text on one line, without spaces around it."""
