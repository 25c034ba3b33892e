"""The base of everything a person writes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from interlock.infra.naming import check_name


class Config(BaseModel):
    """Frozen, closed to unknown keys; the docstring under each field is its published description."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=())


def _dns(value: str) -> str:
    problem = check_name(value)
    if problem:
        raise ValueError(problem)
    return value


Name = Annotated[str, Field(min_length=1, json_schema_extra={"format": "dns-label"})]
"""A name that becomes part of Kubernetes names; checked by ``dns_name`` in the models that use it."""

dns_name = _dns
