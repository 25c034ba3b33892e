"""What our supervisor does around an engine, as far as rules ask."""

from dataclasses import dataclass

from interlock.infra.facts.fact import Fact

ARCHIVE = "interlock-runtime.pyz"
"""File that a pod runs."""
SETTINGS = "INTERLOCK_RUNTIME"
"""Variable with the supervisor's settings."""
MIDDLEWARE = "interlock.runtime.front.Front"
"""Class that counts and refuses requests inside the engine's API server."""

WATCH = "interlock.runtime.adapters.Adapters"
"""Class that keeps the engine's adapters equal to a mounted list."""

GATE = "interlock.runtime.gate."
ACCOUNT, KEYS, LIMITS = f"{GATE}account.Account", f"{GATE}keys.Keys", f"{GATE}limits.Limits"
GOVERNOR, PRIORITY = f"{GATE}governor.Governor", f"{GATE}priority.Priority"
"""Classes that know tenants."""


@dataclass(frozen=True, slots=True)
class Supervisor:
    """Our supervisor around an engine, by its settings; where it is not there, the engine is the container's first process."""

    path: str = ""
    folder: str = ""
    """Where the container has it, as its command says; empty where it says no whole path."""
    drain: Fact[float] = Fact()
    """Seconds that running requests get at a stop, before the engine hears of it."""
    teardown: Fact[float] = Fact()
    """Seconds that the engine then gets."""
    hang: Fact[float] = Fact()
    """Seconds of silence after which a request to end skips the drain; 0: never."""
