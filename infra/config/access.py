"""Who may ask the engines: tenants with keys, and what each server opens to them."""

import datetime as dt
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from interlock.infra.config.base import Bytes, Config, Name, PathPrefix, Plain


class Tier(StrEnum):
    """How patient a tenant is."""

    INTERACTIVE = "interactive"
    STANDARD = "standard"
    BATCH = "batch"


class KeyHolder(Config):
    """A tenant that asks the engines of this stack. Limits hold in each replica."""

    name: Name
    """Name of the tenant; its key lies in a Secret of its own."""
    tier: Tier | None = None
    """interactive, standard or batch: whose requests go first when they queue; omit where all are alike. One tenant that states it makes
    the engine schedule by priority."""
    servers: tuple[str, ...] | None = None
    """Servers that its key opens; omit for all."""
    models: tuple[Plain, ...] | None = None
    """Models and adapters that it may ask for; omit for all."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Requests in a minute; omit for no limit."""
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Tokens of prompts and answers in a minute; omit for no limit."""
    concurrency: int | None = Field(default=None, ge=1)
    """Requests at the same time; omit for no limit."""
    expires: dt.date | None = None
    """Last day of its keys (UTC)."""
    rotation: int = Field(default=1, ge=1)
    """Raise it by one for a new key; the former one stays valid until it is raised again, or overlap is false."""
    overlap: bool = True
    """Whether the former key is still valid."""


class AccessConfig(Config):
    """Tenants whose keys open the engines. A serving stack with tenants asks for a key on every route."""

    tenants: tuple[KeyHolder, ...] = ()
    """The tenants."""


class ServerAccess(Config):
    """What one server opens."""

    keys: bool | None = None
    """Ask for tenants' keys; omit for yes where the stack has access.tenants."""
    open: str | None = Field(default=None, min_length=3)
    """Why whoever reaches the server may use it, such as a gateway that asks for keys itself. A route to a server without keys needs it."""
    routes: tuple[PathPrefix, ...] = ()
    """Further routes that a key opens, whole paths; without it completions, chat, responses, messages, embeddings, scores and models."""
    max_body: Bytes = "32Mi"
    """Largest request."""
    cooling: bool = False
    """Let fewer requests in while the cards are hotter than 85 degrees Celsius."""

    @model_validator(mode="after")
    def _open_or_not(self) -> Self:
        if self.keys and self.open:
            raise ValueError("keys: true asks everybody for a key, and open says why nobody needs one: remove one of them")
        return self
