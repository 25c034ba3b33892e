"""Facts of a document itself: what was wrong with it when it was read."""

from dataclasses import dataclass

from interlock.infra.facts.origin import Origin


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """Something wrong with the document itself, found while it was read."""

    origin: Origin
    kind: str
    """Fault kind: ``yaml-invalid``, ``dup-key``, ``schema-typo``, ``schema-misplaced``, ``schema-broken``, ``template-leftover``,
    ``placeholder``, ``embedded-yaml-broken``, ``dead-value``, ``engine-lost``."""
    text: str
    """What is wrong, as one sentence."""
    path: str = ""
    value: str = ""
    remedy: str = ""
    severity: str = ""
    """``error`` or ``warning`` where it is not that of its kind."""
    fault: str = ""
    """A narrower name of the fault than its kind."""
    also: tuple[str, ...] = ()
    """The other sides of a contradiction: paths in the same document."""
