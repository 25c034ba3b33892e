"""Wishes that a model cannot meet whatever it is started with: refused by name, as no argument of the engine could be derived from them."""

from collections.abc import Iterator, Mapping

from interlock.infra.catalog.model_inputs import inputs
from interlock.infra.config.wishes import Task
from interlock.infra.errors import Problem
from interlock.infra.plan.derive.case import Case

_KINDS = ("image", "video", "audio")


def unable(case: Case, place: str) -> Iterator[Problem]:
    """What is wished in vain; ``place``: the server's path in the config."""
    for field, told in (*_images(case), *_task(case)):
        yield Problem(f"{place}.wishes.{field}", told)


def sees(case: Case) -> frozenset[str] | None:
    """What the model reads beside text; None where nobody knows."""
    if case.facts is None:
        return None
    known = inputs(case.facts.architecture)
    # A class that is not vLLM's own may still show its encoders in its config.
    return known if known is not None else frozenset({"image"}) if case.facts.vision else None


def _images(case: Case) -> Iterator[tuple[str, str]]:
    wished, read = case.server.wishes.images, sees(case)
    if not wished:
        return
    if read is not None and "image" not in read and case.facts is not None:
        told = f"{wished}, but {case.facts.architecture} reads {_listed(read)}: remove it, or serve a model that sees"
        yield "images", told
        return
    stated = case.server.engine.stated()
    limits = stated.get("limit_mm_per_prompt")
    least = limits.get("image") if isinstance(limits, Mapping) else None
    if stated.get("language_model_only"):
        yield "images", f"{wished}, but engine.language_model_only leaves the vision tower out: remove one of them"
    elif isinstance(least, int) and least < wished:
        yield "images", f"{wished}, but engine.limit_mm_per_prompt allows {least} in a prompt: remove one of them"


def _task(case: Case) -> Iterator[tuple[str, str]]:
    task, read, facts = case.server.wishes.task, sees(case), case.facts
    if facts is None:
        return
    if task is Task.TRANSCRIBE and read is not None and "transcription" not in read:
        told = f"but {facts.architecture} reads {_listed(read)}, and vLLM's class for it answers no /v1/audio/transcriptions"
        yield "task", f"transcribe, {told}: serve a model such as openai/whisper-large-v3, or another task"
    elif task in (Task.CHAT, Task.CODE) and facts.pools and case.server.engine.runner != "generate":
        yield "task", f"{task}, but {facts.architecture} answers with vectors or scores: embed or rerank is meant, or another model"


def _listed(read: frozenset[str]) -> str:
    kinds = [kind for kind in _KINDS if kind in read]
    return f"text and {', '.join(kinds)}" if kinds else "text alone"
