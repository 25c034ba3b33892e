"""Taints of nodes as kubectl writes them: ``key=value:Effect``."""

import re
from dataclasses import dataclass

from interlock.infra.naming import label_key_problem, label_value_problem

EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_PARTS = re.compile(r"([^=:]*)(?:=([^:]*))?(?::(.*))?")


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint."""

    key: str
    value: str
    """Empty where the text states none."""
    effect: str

    @property
    def of_a_node(self) -> dict[str, str]:
        """The taint on a node that is made here."""
        return {"key": self.key, "value": self.value or "present", "effect": self.effect}

    @property
    def toleration(self) -> dict[str, str]:
        """What lets a pod stay beside it: any value where none is stated."""
        how = {"operator": "Equal", "value": self.value} if self.value else {"operator": "Exists"}
        return {"key": self.key, **how, "effect": self.effect}


def taint(text: str) -> Taint:
    """The taint that ``text`` says; without an effect it is NoSchedule."""
    found = _PARTS.fullmatch(text)
    key, value, effect = found.groups() if found else (text, None, None)
    return Taint(key, value or "", effect or EFFECTS[0])


def taint_problem(text: str) -> str | None:
    """Why ``text`` is not a taint, or None."""
    found = taint(text)
    if found.effect not in EFFECTS:
        return (
            f"{found.effect!r} is not an effect of a taint: write one of {', '.join(EFFECTS)}, as in {found.key or 'key'}=value:NoExecute"
        )
    return label_key_problem(found.key) or label_value_problem(found.value)
