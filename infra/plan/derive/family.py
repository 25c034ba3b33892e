"""What follows from the model's family and its use: runner, parsers, sampling defaults, inputs."""

from collections.abc import Iterator

from interlock.infra.catalog.dialects import Dialect, dialect_of, registered
from interlock.infra.config.wishes import Goal, Task
from interlock.infra.plan.derive.able import sees
from interlock.infra.plan.derive.case import Case, Choice
from interlock.infra.values import Version

_FEW_BITS = 4
_ANSWERS = {Task.EMBED: "embed", Task.RERANK: "classify"}


def runner(case: Case) -> Iterator[Choice]:
    """The pooling runner for vectors and scores; a generating model is made into one."""
    task = case.server.wishes.task
    if task not in _ANSWERS or not case.takes("runner"):
        return
    yield Choice("runner", "pooling", f"task {task}: vectors or scores, no text")
    if case.facts is not None and case.facts.head == "lm" and case.takes("convert"):
        yield Choice("convert", _ANSWERS[task], f"task {task}: {case.facts.architecture} generates text by itself")


def modalities(case: Case) -> Iterator[Choice]:
    """Images of one prompt, where the model sees; what certainly does not is refused (``unable``)."""
    images, read = case.server.wishes.images, sees(case)
    if images is None:
        return
    if read is None:
        told = f"wishes.images is {images}, and whether the model sees is not known: state limit_mm_per_prompt where it does"
        yield Choice("limit_mm_per_prompt", None, told)
    elif images:
        yield Choice("limit_mm_per_prompt", {"image": images}, f"wishes.images is {images}", "the engine's own limit")
    elif "image" in read and "audio" not in read and case.takes("language_model_only"):
        yield Choice("language_model_only", True, "wishes.images is 0: the vision tower is left out", "its weights stay on the card unused")
    elif "image" in read:
        none = {kind: 0 for kind in ("image", "video") if kind in read}
        told = f"wishes.images is 0: no {' and no '.join(none)}"
        yield Choice("limit_mm_per_prompt", none, told, "language_model_only, which takes no sound either" if "audio" in read else "")


def dialect(case: Case) -> Iterator[Choice]:
    """The parsers of tool calls and reasoning, and the sampling defaults, of the model's family."""
    task = case.server.wishes.task
    if case.simulated or case.pools or task not in (None, Task.CHAT, Task.CODE) or case.facts is None:
        return
    found = dialect_of(case.facts.outer_type, case.facts.model_type, case.server.model.id)
    if found is None:
        return
    asked = f"task {task}" if task else "the task is not stated: chat is assumed"
    yield from _parsers(case, found, asked)
    yield from _sampling(case, found)
    yield from _thinking(case, found)


def _sampling(case: Case, found: Dialect) -> Iterator[Choice]:
    """Defaults for a quantized checkpoint; they join those of its generation_config.json."""
    stored = case.facts.quantization if case.facts is not None else None
    quantized = stored is not None and stored.bits <= _FEW_BITS
    first, version = Version.parse(found.sampling_since), Version.parse(case.vllm)
    if found.sampling and quantized and first and version and first <= version.release:
        yield Choice(
            "override_generation_config", dict(found.sampling), f"{found.why}; a request may state its own", "the checkpoint's own"
        )


def _thinking(case: Case, found: Dialect) -> Iterator[Choice]:
    """For latency the reasoning is off unless a request asks for it."""
    if case.server.wishes.goal is Goal.LATENCY and found.thinks and case.takes("default_chat_template_kwargs"):
        told = f"goal latency: {found.family} thinks before it answers, unless it is told not to; a request may ask for it"
        yield Choice("default_chat_template_kwargs", {found.thinks: False}, told, "thousands of tokens of reasoning before each answer")


def _parsers(case: Case, found: Dialect, asked: str) -> Iterator[Choice]:
    source = f"how {found.family} writes them ({asked})"
    tool = found.tool if found.tool and registered("tool", found.tool, case.vllm) else ""
    # A person who says anything about tools says all of it: half of it from us would contradict the other half.
    if tool and found.template and not {"chat_template", "tool_call_parser", "enable_auto_tool_choice"} & case.given:
        # A path that the image does not have stops the engine, and only the person knows the image.
        told = f"the checkpoint's own: tool calls of {found.family} would need another, and arrive as text"
        yield Choice("chat_template", None, told, f"{found.template} of the stock image, with enable_auto_tool_choice and {tool}")
    elif tool and not {"tool_call_parser", "enable_auto_tool_choice"} & case.given:
        yield Choice("enable_auto_tool_choice", True, f"tool calls of {found.family} are parsed ({asked})", "tool calls arrive as text")
        yield Choice("tool_call_parser", tool, source)
    if found.reasoning and registered("reasoning", found.reasoning, case.vllm):
        yield Choice("reasoning_parser", found.reasoning, source, "the reasoning stands in the answer's text")
