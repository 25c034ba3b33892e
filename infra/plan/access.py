"""Who may ask a server: its tenants with their limits, and the classes in front of the engine that see to it."""

import datetime as dt

from interlock.infra.config.access import KeyHolder
from interlock.infra.config.cluster import ClusterConfig
from interlock.infra.config.load import asks_for_keys
from interlock.infra.config.servers import ServerConfig
from interlock.infra.engine.args import EngineArgs
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.facts.supervisor import ACCOUNT, GOVERNOR, KEYS, LIMITS, MIDDLEWARE, PRIORITY, WATCH
from interlock.infra.naming import check_name, content_hash, joined
from interlock.infra.plan.holders import PlannedAccess, PlannedTenant
from interlock.infra.plan.reasons import SET, Reason
from interlock.infra.values import bytes_of

STANDARD = "standard"
DAY_SECONDS = 86_400
MOST_OF_STACK = 40
"""Characters of a stack's name that stand in other names as they are."""


def tiers_matter(config: ClusterConfig, server: ServerConfig) -> bool:
    """Whether any tenant of the server says how patient it is, so that requests are to be ordered."""
    return asks_for_keys(config, server) and any(each.tier for each in holders(config, server))


def holders(config: ClusterConfig, server: ServerConfig) -> list[KeyHolder]:
    """The tenants whose keys open the server."""
    return [each for each in config.access.tenants if each.servers is None or server.name in each.servers]


def keys_secret(stack: str) -> str:
    """Name of the Secret with the keyed hashes, which the engines mount."""
    return joined("interlock", _part(stack), "keys")


def key_secret(stack: str, tenant: str) -> str:
    """Name of the Secret that holds a tenant's key. Raises ConfigError for a name that is too long."""
    name = f"{_part(stack)}-{tenant}-key"
    if problem := check_name(name):
        raise ConfigError([Problem("access.tenants", f"{tenant!r}: the Secret with its key: {problem}; give the tenant a shorter name")])
    return name


def _part(stack: str) -> str:
    """A stack's part of a name: Pulumi lets stacks have names that Kubernetes does not."""
    return content_hash(stack) if check_name(stack) or len(stack) > MOST_OF_STACK else stack


def key_id(tenant: str, rotation: int) -> str:
    """Id of a tenant's key."""
    return f"{tenant}-{rotation}"


def valid_rotations(tenant: KeyHolder) -> tuple[int, ...]:
    """Numbers of the keys that are valid, the newest last."""
    return (tenant.rotation - 1, tenant.rotation) if tenant.overlap and tenant.rotation > 1 else (tenant.rotation,)


def decide_access(
    config: ClusterConfig, stack: str, server: ServerConfig, engine: EngineArgs, *, supervised: bool, why: dict[str, Reason]
) -> PlannedAccess | None:
    """Tenants and limits; None for a server without keys. Raises ConfigError where the engine is too old to load what checks them."""
    if not asks_for_keys(config, server):
        if server.access.open or server.access.keys is False:
            why["keys"] = Reason(value="none", reason=server.access.open or SET)
        return None
    if not supervised:
        place = f"servers[{[each.name for each in config.servers].index(server.name)}].access.keys"
        told = "this vLLM runs without the supervisor, which brings along what checks keys: use a newer image, or keys: false"
        raise ConfigError([Problem(place, told)])
    tenants = tuple(_tenant(each, stack) for each in holders(config, server))
    why["keys"] = Reason(
        value=", ".join(each.name for each in tenants) or "nobody", reason="; ".join(map(in_words, tenants)) or "access.tenants"
    )
    return PlannedAccess(
        tenants=tenants,
        routes=server.access.routes,
        max_body_bytes=bytes_of(server.access.max_body),
        capacity=running_at_once(engine),
        ordered=tiers_matter(config, server),
        cooling=server.access.cooling,
        config_map=joined(server.name, "access"),
        secret=keys_secret(stack),
    )


def limits(tenant: PlannedTenant) -> list[str]:
    """A tenant's limits in words."""
    counts = {"requests a minute": tenant.requests_per_minute, "tokens a minute": tenant.tokens_per_minute, "at once": tenant.concurrency}
    found = [f"{value:,} {what}" for what, value in counts.items() if value]
    found += [f"only {', '.join(tenant.models)}"] if tenant.models is not None else []
    return found + ([f"until {last}"] if (last := last_day(tenant)) else [])


def last_day(tenant: PlannedTenant) -> dt.date | None:
    """The last day (UTC) of its keys; None without one."""
    days = max(tenant.expires // DAY_SECONDS - 1, 0)
    return dt.date(1970, 1, 1) + dt.timedelta(days=days) if tenant.expires else None


def ended(tenant: PlannedTenant, today: dt.date) -> dt.date | None:
    """The last day of keys that are not valid any more; None of valid ones."""
    last = last_day(tenant)
    return last if last is not None and last < today else None


def in_words(tenant: PlannedTenant) -> str:
    """Tier and limits of a tenant in words."""
    return f"{tenant.name}: {', '.join((tenant.tier, *limits(tenant)))}"


def running_at_once(engine: EngineArgs) -> int:
    """Requests that run at the same time: what is stated, else half of what the engine lets in (admission.py); 0 = not known."""
    return engine.max_num_seqs * engine.dp if engine.max_num_seqs else (engine.max_num_queued_reqs or 0) // 2


def _tenant(holder: KeyHolder, stack: str) -> PlannedTenant:
    # Days are counted and not added to the date: the last one that a date can name has none after it. 0 would be no end.
    end = max((holder.expires - dt.date(1970, 1, 1)).days + 1, 0) * DAY_SECONDS or 1 if holder.expires else 0
    return PlannedTenant(
        name=holder.name,
        secret=key_secret(stack, holder.name),
        tier=holder.tier.value if holder.tier else STANDARD,
        models=holder.models,
        requests_per_minute=holder.requests_per_minute or 0,
        tokens_per_minute=holder.tokens_per_minute or 0,
        concurrency=holder.concurrency or 0,
        expires=end,
    )


def middleware(access: PlannedAccess | None, *, supervised: bool, hot: bool = False) -> tuple[str, ...]:
    """The classes, the innermost first: the last one named is the outermost. ``hot``: adapters come from a list."""
    found = [*([MIDDLEWARE] if supervised else []), *([WATCH] if hot else [])]
    if access:
        found += [PRIORITY] if access.ordered else []
        found += [GOVERNOR] if access.cooling else []
        found += [LIMITS, KEYS, ACCOUNT]
    return tuple(found)
