"""Who may ask a server, as it follows from the config."""

from interlock.infra.plan.base import Planned


class PlannedTenant(Planned):
    """A tenant of a server. 0 = no limit."""

    name: str
    """Name."""
    secret: str
    """Name of the Secret with its key."""
    tier: str
    """interactive, standard or batch."""
    models: tuple[str, ...] | None
    """Models and adapters that it may ask for; None = all."""
    requests_per_minute: int
    """Requests in a minute."""
    tokens_per_minute: int
    """Tokens in a minute."""
    concurrency: int
    """Requests at the same time."""
    expires: int
    """Seconds since 1970 from which its keys are not valid."""


class PlannedAccess(Planned):
    """Who may ask a server."""

    tenants: tuple[PlannedTenant, ...]
    """Those whose keys open it."""
    routes: tuple[str, ...]
    """Further routes that a key opens."""
    max_body_bytes: int
    """Largest request."""
    capacity: int
    """Requests that run at the same time; above it tenants have equal shares. 0 = not known."""
    ordered: bool
    """Whether requests get priorities."""
    cooling: bool
    """Whether heat lowers admission."""
    config_map: str
    """Name of the ConfigMap with tenants and limits."""
    secret: str
    """Name of the Secret with the keyed hashes of all keys."""
