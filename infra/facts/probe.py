"""Facts of one probe of a container."""

from dataclasses import dataclass

from interlock.infra.facts.fact import Fact


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe; absent fields take Kubernetes' defaults (period 10, failureThreshold 3, initialDelay 0, timeout 1)."""

    kind: str
    """``startup``, ``readiness`` or ``liveness``."""
    path: str = ""
    http_path: Fact[str] = Fact()
    port: Fact[str] = Fact()
    """Number or port name as text."""
    initial_delay: Fact[float] = Fact()
    period: Fact[float] = Fact()
    failure_threshold: Fact[int] = Fact()
    timeout: Fact[float] = Fact()
    grace_period: Fact[float] = Fact()
    handler: str = ""
    """``http``, ``tcp``, ``grpc`` or ``exec``; empty when it is not stated or not known."""
    silence: Fact[float] = Fact()
    """Of our own exec probe: seconds without an engine step, with work to do, after which it fails; absent for every other probe."""
    command: Fact[tuple[str, ...]] = Fact()
    """Words that an ``exec`` probe runs."""
