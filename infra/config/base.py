"""The base of everything a person writes."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from interlock.infra.naming import check_name
from interlock.infra.values import quantity


class Config(BaseModel):
    """Frozen, closed to unknown keys; the docstring under each field is its published description."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=())


def _dns(value: str) -> str:
    problem = check_name(value)
    if problem:
        raise ValueError(problem)
    return value


def _positive(value: str) -> str:
    if quantity(value) <= 0:
        raise ValueError(f"{value!r} is not above zero")
    return value


Name = Annotated[str, Field(min_length=1, json_schema_extra={"format": "dns-label"}), AfterValidator(_dns)]
"""A name that becomes part of Kubernetes names: a DNS label."""

Quantity = Annotated[str, Field(json_schema_extra={"format": "quantity"}), AfterValidator(_positive)]
"""A Kubernetes quantity above zero, such as ``500m`` or ``16Gi``."""
