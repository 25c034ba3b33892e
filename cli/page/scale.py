"""One GPU's memory to scale, for every picture of it: the page of a plan, and the SVG of one card."""

from dataclasses import dataclass

from interlock.infra.sizing import Estimate, SizingResult, Term

NAMES = {
    "weights": "weights",
    "activation": "activation peak",
    "cuda_graphs": "CUDA graphs",
    "non_torch": "non-torch",
    "kv_cache": "KV cache",
    "outside": "left free",
}
"""Terms in the order in which they are drawn, with what they are called."""
TELLS = 0.14
"""Part of the bar from which on a name fits into it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What fills a card. All sizes are GiB."""

    terms: tuple[Term, ...]
    """In the order in which they are drawn."""
    total: float
    """What the card has."""
    whole: float
    """What the bar stands for: the card, or more where more is asked."""
    low: float
    """Where the KV cache begins at the earliest."""
    high: float
    """Where it begins at the latest."""

    @property
    def over(self) -> bool:
        """More is asked than the card has."""
        return self.whole > self.total * 1.001

    @property
    def told(self) -> str:
        """What the bracket below the bar means."""
        spent = f"{self.low:.1f} to {self.high:.1f} GiB of {self.total:.1f} GiB"
        return f"the bracket: where the KV cache begins, {spent}" + ("; the red line: the card ends" if self.over else "")

    def share(self, term: Term) -> float:
        """Part of the bar that a term takes."""
        return max(term.gib.likely, 0.0) / self.whole if self.whole else 0.0


def scale(fit: SizingResult) -> Scale | None:
    """The card of an answer; None where its memory or its terms are not known."""
    terms = tuple(term for name in NAMES if (term := fit.term(name)) is not None)
    if not terms or fit.total_gib is None:
        return None
    total = fit.total_gib.likely
    held = [term.gib for term in terms if term.name not in ("kv_cache", "outside")]
    whole = max(sum(max(term.gib.likely, 0.0) for term in terms), total)
    return Scale(terms, total, whole, sum(each.low for each in held), sum(each.high for each in held))


def span(estimate: Estimate) -> str:
    """``14.9 (14.8 to 15.1) GiB``; what is missing where a term is below zero."""
    if estimate.likely < 0:
        return f"{-estimate.likely:.1f} GiB short"
    low, likely, high = (f"{each:.1f}" for each in (estimate.low, estimate.likely, estimate.high))
    return f"{likely} GiB" if low == high else f"{likely} ({low} to {high}) GiB"
