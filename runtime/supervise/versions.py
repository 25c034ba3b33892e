"""What is said where the image's vLLM is not the plan's to the letter."""

import re
import sys

from interlock.runtime.words import RefusedError

RELEASE = re.compile(r"\d+(\.\d+)*")


def compared(planned: str, there: str, sure: bool) -> str:
    """What is to be said, or nothing; ``sure``: whether the plan's version was stated. Raises RefusedError when it was, and differs."""
    if not there:
        return f"the plan is for vLLM {planned}, and none is on the path of {sys.executable}: its version is not compared"
    text = f"the plan is for vLLM {planned}, but the image has {there}"
    if sure:
        raise RefusedError(f"{text}: change the image or the planned version")
    return "" if _release(there) == _release(planned) else f"{text}; the plan took it from the image's name, state image.vllm"


def _release(version: str) -> str:
    found = RELEASE.match(version)
    return found.group() if found else version
