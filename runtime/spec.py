"""What the runtime needs beyond the engine's own arguments: the environment variable INTERLOCK_RUNTIME, one JSON object.

Whole numbers and names only: nothing in it may change while the deployment means the same, or every pod restarts.
"""

from __future__ import annotations

from interlock.runtime.words import TERMINATION_LOG, RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE = "INTERLOCK_RUNTIME"
MARGIN_SECONDS = 10
"""Seconds between the last thing that the supervisor may do and the kubelet's SIGKILL."""


class Spec:
    """The values of the variable, with their defaults. Times in seconds. Frozen."""

    vllm: str = ""
    """The vLLM version that the plan was made for; empty: any."""
    vllm_sure: bool = True
    """Whether that version was stated. One read from an image's name is only compared by its release, and a difference is only said."""
    drain_seconds: float = 60
    """From the request to end until SIGTERM goes to the engine at the latest: at least the longest answer."""
    settle_seconds: float = 2
    """How long a drain lasts at least, so that clients and routers see it."""
    quiet_seconds: float = 1
    """How long no new request may have come before the engine ends: whoever still sends would find a closed port."""
    patience_seconds: float = 10
    """How long a drain waits for that quiet, and for connections that idle, when nothing is in flight: some clients never stop."""
    teardown_seconds: float = 25
    """What the engine gets after SIGTERM before the whole process group is killed."""
    hang_seconds: float = 0
    """Silence of an engine core with work, after which a request to end skips the drain; 0: never."""
    grace_seconds: float = 0
    """The pod's termination grace period, to be held against the other times; 0: not known."""
    pre_stop_seconds: float = 0
    """What the pod's preStop hook takes of that grace period."""
    adapters: tuple[str, ...] = ()
    """LoRA adapters that must be registered before the pod is ready."""
    access: str = "/etc/interlock/access"
    """Folder of access.json and keys.json, for the middleware that asks for keys."""
    own_shm: bool = False
    """Whether /dev/shm belongs to this container alone, so that files of an earlier life may be removed."""
    log: str = "text"
    """`text`: the engine's lines as they are; `json`: one object per line."""
    board: str = "/dev/shm/interlock"
    """Folder of the board (see board.py)."""
    shm: str = "/dev/shm"
    """Where the engine leaves shared memory."""
    termination_log: str = TERMINATION_LOG
    """Where the last words go."""
    preflight: Mapping[str, object] = {}
    """What preflight holds against the machine (see preflight/plan.py)."""

    def __init__(self, **given: object) -> None:
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} of a spec cannot be set")


#: The fields and their defaults.
DEFAULTS = {name: getattr(Spec, name) for name in Spec.__annotations__}


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 7 * 86400


def _names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


#: By the type of the default: (whether a value is good, what it must be).
KINDS: dict[type, tuple[Callable[[object], bool], str]] = {
    int: (_number, "a number of seconds from 0 to 604800"),
    str: (lambda value: isinstance(value, str), "a string"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    tuple: (_names, "a list of names"),
    dict: (lambda value: isinstance(value, dict), "an object"),
}


def load(environment: Mapping[str, str]) -> Spec:
    """The checked spec. Raises RefusedError with the field, its value and what it must be."""
    text = environment.get(VARIABLE)
    if text is None:
        raise RefusedError(f"the environment variable {VARIABLE} is missing; the pod template sets it ('{{}}' takes every default)")
    try:
        given = parsed(text)
    except ValueError as error:
        raise RefusedError(f"{VARIABLE} is not valid JSON ({error}); it holds {len(text)} characters, ending in {text[-20:]!r}") from None
    if not isinstance(given, dict):
        raise RefusedError(f"{VARIABLE} must be a JSON object, not {type(given).__name__}")
    values = {}
    for name, value in given.items():
        if name not in DEFAULTS:
            raise RefusedError(f"{VARIABLE}.{name} is not known; the fields are {', '.join(sorted(DEFAULTS))}")
        good, wanted = KINDS[type(DEFAULTS[name])]
        if not good(value):
            raise RefusedError(f"{VARIABLE}.{name} is {value!r} and must be {wanted}")
        values[name] = tuple(value) if isinstance(value, list) else value
    spec = Spec(**values)
    _together(spec)
    return spec


def parsed(text: str) -> object:
    """A JSON value. The `json` module is only loaded to word an error: with `re` and `enum` it takes half as long as an empty Python."""
    try:
        from _json import make_scanner  # noqa: PLC0415

        bare = text.strip(" \t\n\r")
        value, end = make_scanner(Scanning)(bare, 0)  # type: ignore[arg-type]
        if end == len(bare):
            return value
    except (ImportError, StopIteration, ValueError, SystemError):  # SystemError: what CPython has where its own error is not loaded
        pass
    import json  # noqa: PLC0415

    return json.loads(text)


class Scanning:
    """How `json` sets up CPython's scanner (json/decoder.py)."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _together(spec: Spec) -> None:
    if spec.log not in ("text", "json"):
        raise RefusedError(f"{VARIABLE}.log is {spec.log!r} and must be text or json")
    settle, drain, teardown, stop = spec.settle_seconds, spec.drain_seconds, spec.teardown_seconds, spec.pre_stop_seconds
    if settle > drain:
        raise RefusedError(f"settle_seconds {settle:g} is more than drain_seconds {drain:g}: the drain would end before it settles")
    needed = stop + drain + teardown + MARGIN_SECONDS
    if spec.grace_seconds and needed > spec.grace_seconds:
        raise RefusedError(
            f"grace_seconds {spec.grace_seconds:g} is less than pre_stop_seconds {stop:g} + drain_seconds {drain:g} + teardown_seconds"
            f" {teardown:g} + {MARGIN_SECONDS} = {needed:g}: the kubelet would kill the drain; raise it to {needed:g}"
        )
