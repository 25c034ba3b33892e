"""How a repository wants to be checked: the nearest ``.interlock.yaml``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from interlock.cli.reading import load_text
from interlock.infra.errors import ConfigError, Problem
from interlock.infra.paths import child_path
from interlock.infra.rules.findings import Waiver
from interlock.infra.rules.settings import STRICT, setting_problems, waiver_problems
from interlock.infra.values import bytes_of
from interlock.stacks.model_config import read_config as model_file

FILE = ".interlock.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """The nodes that manifests without a node selector are meant for."""

    name: str = "default"
    """Name of the pool in findings."""
    gpu: str = ""
    """GPU model: h100, a100-80gb, l4, ... A card that the catalog does not know needs ``memory_gib`` and ``compute_capability``."""
    gpus_per_node: int | None = None
    """GPUs of one node (of shares, where cards are shared)."""
    nodes: int | None = None
    """Nodes of the pool."""
    max_nodes: int | None = None
    """Upper end of an autoscaled pool."""
    free: int | None = None
    """GPUs that nothing uses now: a rolling update needs one."""
    memory_gib: float | None = None
    """Memory of one GPU (or slice) as CUDA reports it, in GiB."""
    used_gib: float | None = None
    """Memory of each GPU that something else holds, in GiB."""
    compute_capability: float | None = None
    """8.0 for an A100, 9.0 for an H100, ..."""
    driver: str | None = None
    """Version of the GPU driver: 570.86.15."""
    runtime: str | None = None
    """Container runtime of pods without a runtime class: nvidia, runc, ..."""
    sharing: Literal["exclusive", "time-slicing", "mps", "mig"] | None = None
    """How a card is shared."""
    shares: int | None = None
    """Shares of one card."""
    nvlink: bool | None = None
    """Whether the cards of a node are linked."""
    cpu: float | None = None
    """Allocatable cores of one node."""
    memory: str | None = None
    """Allocatable memory of one node, as a quantity (``900Gi``)."""
    disk: str | None = None
    """Allocatable ephemeral storage of one node, as a quantity."""
    notice_seconds: int | None = None
    """Seconds from the notice that a node goes until it is gone, for spot nodes."""

    def __post_init__(self) -> None:
        """Raises ValueError for a count below 1 and for an amount that is not a quantity."""
        for name in ("gpus_per_node", "nodes", "max_nodes", "shares", "memory_gib", "notice_seconds"):
            count = getattr(self, name)
            if count is not None and count < (1 if name != "memory_gib" else 0.1):
                raise ValueError(f"{name}: {count} is not 1 or more")
        for name in ("memory", "disk"):
            try:
                bytes_of(getattr(self, name) or "1Gi")
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfig:
    """``.interlock.yaml``: how a repository wants to be checked."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}

    version: Literal[1] = 1
    """Version of this file's form."""
    fail_on: Literal["error", "warning", "info", "never"] | None = None
    """Lowest severity that fails the check."""
    strict: bool = False
    """What production does not accept is an error (``--strict``)."""
    exclude: tuple[str, ...] = ()
    """Files to leave out, as shell patterns over their path or name."""
    settings: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    """Thresholds by ``CODE.name``, and ``CODE.severity``: error, warning, info or off."""
    waivers: tuple[Waiver, ...] = ()
    """Findings that are accepted, each with its reason."""
    longest_answer_seconds: float | None = None
    """Seconds of the longest answer that clients wait for: what the limits on the way are compared with."""
    lora_rank: int | None = None
    """Largest rank of the adapters that are loaded at run time."""
    pool: Hint | None = None
    """The nodes that workloads run on when nothing else says so."""
    models: Mapping[str, str | dict[str, Any]] = field(default_factory=dict)
    """Models that the catalog does not know: name as the manifests write it, to its config.json (a path from this file, or the content)."""


def read_config(path: Path | None) -> CheckConfig:
    """The configuration at ``path``, or the nearest ``.interlock.yaml`` upwards. Raises ConfigError."""
    found = path or next((folder / FILE for folder in (Path.cwd(), *Path.cwd().parents) if (folder / FILE).is_file()), None)
    if found is None:
        return CheckConfig()
    try:
        config = _with_models(_validated(load_text(found.read_text("utf-8")), found), found)
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}", str(found))]) from None
    except ValueError as error:
        raise ConfigError([Problem("", f"is not valid YAML: {error}", str(found))]) from None
    strange = [Problem(child_path("settings", name), text, str(found)) for name, text in setting_problems(config.settings)]
    codes = [waiver.code for waiver in config.waivers]
    strange += [Problem(f"waivers[{at}].code", text, str(found)) for at, text in waiver_problems(codes)]
    if strange:
        raise ConfigError(strange)
    return config


def in_production(config: CheckConfig) -> CheckConfig:
    """The configuration with the severities of production, where it states no others itself."""
    return replace(config, settings={**STRICT, **config.settings})


def _validated(loaded: Any, file: Path) -> CheckConfig:
    """The data of the file as a configuration. Raises ConfigError with every problem."""
    # Half of a short check would be this import; it is paid only where there is a file to validate.
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(CheckConfig).validate_python({} if loaded is None else loaded)
    except ValidationError as error:
        raise ConfigError([_problem(row["loc"], row["type"], row["msg"], row["input"], file) for row in error.errors()]) from None


_SAID = {"unexpected_keyword_argument": "is not a field of this file", "missing": "is required and missing"}


def _problem(place: Sequence[int | str], kind: str, message: str, given: Any, file: Path) -> Problem:
    if kind == "value_error":  # of a class here: "field: what is wrong"
        name, _, text = message.removeprefix("Value error, ").partition(": ")
        return Problem(".".join(map(str, (*place, name))), text, str(file))
    return Problem(".".join(map(str, place)), f"{_SAID.get(kind, message)} (given: {given!r:.80})", str(file))


def _with_models(config: CheckConfig, file: Path) -> CheckConfig:
    """The configuration with the content of every config.json that it names. Raises ConfigError."""
    read: dict[str, str | dict[str, Any]] = {}
    for name, named in config.models.items():
        try:
            read[name] = model_file(file.parent / named) if isinstance(named, str) else named
        except ValueError as error:
            raise ConfigError([Problem(f"models.{name}", f"{str(named)!r} {error}", str(file))]) from None
    return replace(config, models=read)
