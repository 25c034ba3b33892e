"""Error figures with their number of logs and a confidence bound."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tools.accuracy.cases import Scored


@dataclass(frozen=True)
class Errors:
    """Relative errors of one quantity over a group of logs."""

    errors: tuple[float, ...]
    covered: int
    widths: tuple[float, ...]
    """Width of the interval over the true value."""

    @property
    def n(self) -> int:
        return len(self.errors)

    def quantile(self, share: float) -> float:
        """Quantile of the absolute error (nearest rank)."""
        ordered = sorted(abs(error) for error in self.errors)
        return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))] if ordered else math.nan

    @property
    def bound(self) -> float:
        """Upper 95 % confidence bound of the 90th percentile (order statistics); nan when there are too few logs."""
        ordered = sorted(abs(error) for error in self.errors)
        for rank in range(1, len(ordered) + 1):
            if _binomial_cdf(rank - 1, len(ordered), 0.9) >= 0.95:
                return ordered[rank - 1]
        return math.nan

    @property
    def coverage(self) -> float:
        return self.covered / self.n if self.n else math.nan

    @property
    def coverage_bound(self) -> float:
        """Lower 95 % confidence bound of the coverage."""
        return lower_bound(self.covered, self.n)

    @property
    def width(self) -> float:
        ordered = sorted(self.widths)
        return ordered[len(ordered) // 2] if ordered else math.nan


def _binomial_cdf(k: int, n: int, p: float) -> float:
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def lower_bound(hits: int, n: int) -> float:
    """One-sided 95 % Clopper-Pearson bound below a share."""
    return 1 - upper_bound(n - hits, n)


def upper_bound(hits: int, n: int) -> float:
    """One-sided 95 % Clopper-Pearson bound above a share."""
    if n == 0:
        return math.nan
    if hits >= n:
        return 1.0
    low, high = hits / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _binomial_cdf(hits, n, middle) > 0.05 else (low, middle)
    return high


Reader = Callable[[Scored], tuple[float, dict[str, float]] | None]


def quantity(name: str, *, scale: str | None = None) -> Reader:
    """Reads (truth, estimate) of a field that log and answer share. ``scale``: field whose truth the error is relative to."""

    def read(case: Scored) -> tuple[float, dict[str, float]] | None:
        truth, estimate = case.log.get(name), case.answer.get(name)
        if truth is None or not isinstance(estimate, dict) or (scale is None and truth <= 0):
            return None
        return float(truth), estimate

    return read


def errors(cases: Iterable[Scored], read: Reader) -> Errors:
    """Errors of one quantity over some logs."""
    found, covered, widths = [], 0, []
    for case in cases:
        pair = read(case)
        if pair is None:
            continue
        truth, estimate = pair
        found.append(estimate["likely"] / truth - 1)
        covered += estimate["low"] <= truth <= estimate["high"]
        widths.append((estimate["high"] - estimate["low"]) / truth)
    return Errors(tuple(found), covered, tuple(widths))


def weights_error(case: Scored) -> tuple[float, dict[str, float]] | None:
    """Weights; where the log tells consumed memory, weights and what lies outside PyTorch together."""
    pair, other = quantity("weights_gib")(case), case.answer.get("non_torch_gib")
    if pair is None or not case.weights_are_consumed or not isinstance(other, dict):
        return pair
    return pair[0], {end: pair[1][end] + other[end] for end in pair[1]}


def kv_bytes_error(case: Scored) -> tuple[float, dict[str, float]] | None:
    """Bytes per token: pool / tokens of the log (one attention group) against the planner's figure."""
    pool, tokens, own = case.log.get("kv_available_gib"), case.log.get("kv_tokens"), case.answer.get("kv_bytes_per_token")
    if not pool or not tokens or not own or case.family in ("sliding", "chunked", "hybrid", "compressed", "pooling"):
        return None
    data_parallel = case.log.get("dcp") or 1
    truth = pool * 2**30 / tokens * data_parallel
    return truth, {"low": own, "likely": own, "high": own}


def kv_tokens_error(case: Scored) -> tuple[float, dict[str, float]] | None:
    """KV tokens; for V0 logs blocks x 16."""
    tokens = case.log.get("kv_tokens") or (
        16 * case.log["num_gpu_blocks"] if case.band == "V0" and case.log.get("num_gpu_blocks") else None
    )
    estimate = case.answer.get("kv_tokens")
    return (float(tokens), estimate) if tokens and isinstance(estimate, dict) else None


@dataclass(frozen=True)
class Confusion:
    """Verdicts against outcomes."""

    counts: dict[tuple[str, str], int]

    def at(self, outcome: str, verdict: str) -> int:
        return self.counts.get((outcome, verdict), 0)

    def total(self, outcome: str) -> int:
        return sum(n for (kind, _), n in self.counts.items() if kind == outcome)


def confusion(cases: Sequence[Scored]) -> Confusion:
    """How often each verdict met each outcome."""
    counts: dict[tuple[str, str], int] = {}
    for case in cases:
        if case.ran is None:
            continue
        key = ("ran" if case.ran else "failed", str(case.answer["verdict"]))
        counts[key] = counts.get(key, 0) + 1
    return Confusion(counts)
