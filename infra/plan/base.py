"""What planned values have in common."""

from pydantic import BaseModel, ConfigDict


class Planned(BaseModel):
    """Base of planned values."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())
