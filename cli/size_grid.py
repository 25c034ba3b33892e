"""``interlock size`` with several values of an option: one table of what fits, as a planner's grid."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from interlock.cli.size_lines import fields_of
from interlock.infra.catalog.gpus import gpu
from interlock.infra.errors import REFUSED, ConfigError, Problem
from interlock.infra.sizing import SizingResult, Verdict

SEVERAL: Mapping[str, str] = {
    "model": "--model",
    "gpu": "--gpu",
    "tp": "--tp",
    "pp": "--pp",
    "dp": "--dp",
    "quantization": "--quantization",
    "kv_cache_dtype": "--kv-cache-dtype",
    "vllm_version": "--vllm-version",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "max_model_len": "--max-model-len",
}
"""Options that take several values between commas, in the order in which the table names them; the last of several is its columns."""
MOST = 1000
"""Sizings of one grid: about a second."""
_MANY, _PIPED = 10, 120

Sizer = Callable[[dict[str, Any]], SizingResult]


def several(case: Mapping[str, Any]) -> dict[str, list[str]]:
    """Options of a case that have more than one value, with the values. Raises ConfigError for an empty value and for too many."""
    found = {name: _parts(name, text) for name in SEVERAL if isinstance(text := case.get(name), str) and "," in text}
    found = {name: parts for name, parts in found.items() if len(parts) > 1}
    for name, parts in found.items():
        if not all(parts):
            raise ConfigError([Problem(SEVERAL[name], f"{case[name]!r} has an empty value between its commas", "interlock size")])
    count = 1
    for parts in found.values():
        count *= len(parts)
    if count > MOST:
        raise ConfigError([Problem("interlock size", f"{count} combinations are more than the {MOST} of one table: take fewer values", "")])
    return found


def _parts(name: str, text: str) -> list[str]:
    if name == "gpu" and gpu(text) is not None:
        return [text]  # a product name may hold a comma
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def answer_grid(case: Mapping[str, Any], varied: Mapping[str, Sequence[str]], sizer: Sizer, *, as_json: bool) -> int:
    """Prints the grid. Exit code 1 when nothing of it fits or may fit."""
    places = list(itertools.product(*varied.values()))
    found = [sizer({**case, **dict(zip(varied, place, strict=True))}) for place in places]
    if as_json:
        rows = (dict(zip(varied, place, strict=True)) | fields_of(each) for place, each in zip(places, found, strict=True))
        print(json.dumps(list(rows), indent=2))
    else:
        from rich.console import Console

        screen = Console(highlight=False)
        shown = screen if screen.is_terminal else Console(highlight=False, width=_PIPED, no_color=True)
        shown.print(_table(case, varied, dict(zip(places, found, strict=True))))
    return REFUSED if all(each.verdict is Verdict.DOES_NOT_FIT for each in found) else 0


def _table(case: Mapping[str, Any], varied: Mapping[str, Sequence[str]], found: Mapping[tuple[str, ...], SizingResult]) -> Any:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    *rows, column = varied
    fixed = ", ".join(str(case[name]) for name in ("model", "gpu") if name not in varied and case.get(name))
    table = Table(*(SEVERAL[name] for name in rows), title=fixed or None, box=box.SIMPLE)
    for value in varied[column]:
        table.add_column(f"{SEVERAL[column]} {value}" if value == varied[column][0] else value, justify="right")
    for place in itertools.product(*(varied[name] for name in rows)):
        cells = (found[(*place, value)] for value in varied[column])
        table.add_row(*place, *(Text(cell(each), style=_STYLE[each.verdict]) for each in cells))
    return Group(table, Text(_LEGEND, style="bright_black"), *_reasons(found))


_STYLE = {Verdict.FITS: "green", Verdict.UNSURE: "yellow", Verdict.DOES_NOT_FIT: "red"}
_LEGEND = "a number: requests of the full length that surely fit at the same time; unsure: at least .. at most; no: none fits"


def cell(answer: SizingResult) -> str:
    """What one place of the grid shows."""
    if answer.verdict is Verdict.DOES_NOT_FIT:
        return "no"
    if answer.kv_needed_gib == 0:
        return "fits"
    many = answer.max_concurrency
    if answer.verdict is Verdict.FITS:
        return _count(many.low) if many else "fits"
    return f"unsure {_count(max(many.low, 0))} .. {_count(many.high)}" if many else "unsure"


def _count(many: float) -> str:
    return f"{many:.0f}" if many >= _MANY else f"{int(many * 10) / 10:.1f}"


def _reasons(found: Mapping[tuple[str, ...], SizingResult]) -> list[Any]:
    """Why something is refused or unsure for another reason than the size of its cache, once each."""
    from rich.text import Text

    told: dict[str, str] = {}
    for place, each in found.items():
        if each.verdict is not Verdict.FITS and (each.kv_available_gib is None or each.max_concurrency is None):
            told.setdefault(each.reasons[0], " ".join(place))
    return [Text(f"{where}: {reason}", style="bright_black") for reason, where in told.items()]
