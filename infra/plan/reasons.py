"""Why a number is what it is: the value, the reason with its arithmetic, and the alternative that was not taken."""

from pydantic import BaseModel, ConfigDict


class Reason(BaseModel):
    """One decision of the plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: str
    """What was decided; empty where only a remark is made."""
    reason: str
    """Why, with the arithmetic."""
    instead: str = ""
    """What was not taken, and what it would have meant."""

    @property
    def told(self) -> str:
        """In one line."""
        head = f"{self.value}: {self.reason}" if self.value else self.reason
        return f"{head} (instead: {self.instead})" if self.instead else head


SET = "set in the config"
"""The reason of a person's own value."""
