"""The models that are asked about, as folders with one config.json each (no weights, no tokenizer)."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Model:
    """One model, where its shapes were read, and how far it is swept.

    `lengths`: a short and a long context; `tp`: sizes; `pp`: whether 2 is asked; `processor`: a vision model's preprocessor file.
    """

    name: str
    family: str
    config: dict[str, Any]
    lengths: tuple[int, int]
    tp: tuple[int, ...]
    pp: bool
    arguments: dict[str, Any]
    processor: dict[str, Any]
    source: str
    completed: tuple[str, ...]
    versions: tuple[str, ...] = ("0.26.0", "0.29.0", "0.33.0")
    brief: bool = False
    """Only its ends of the TP range, a pipeline, an fp8 cache, auto-fit, drafts and drawn questions are asked."""

    @property
    def quantized(self) -> bool:
        return "quantization_config" in self.config


@cache
def models() -> dict[str, Model]:
    rows = json.loads((HERE / "models.json").read_text(encoding="utf-8"))["models"]
    return {name: _model(name, row) for name, row in rows.items()}


def _model(name: str, row: dict[str, Any]) -> Model:
    short, long = row["lengths"]
    return Model(
        name=name,
        family=row["family"],
        config=row["config"],
        lengths=(short, long),
        tp=tuple(row["tp"]),
        pp=row["pp"],
        arguments=row.get("arguments", {}),
        processor=row.get("processor", {}),
        source=row["source"],
        completed=tuple(row["completed"]),
        versions=tuple(row.get("versions", ("0.26.0", "0.29.0", "0.33.0"))),
        brief=row.get("brief", False),
    )


def speculative() -> list[tuple[str, dict[str, Any]]]:
    """(target, speculative configuration); its `model` is a name of the catalog where it is one."""
    rows = json.loads((HERE / "models.json").read_text(encoding="utf-8"))["speculative"]
    return [(target, config) for target, config in rows]


def write_folders(folder: Path) -> None:
    for model in models().values():
        path = folder / model.name
        path.mkdir(parents=True, exist_ok=True)
        (path / "config.json").write_text(json.dumps(model.config), encoding="utf-8")
        if model.processor:
            (path / "preprocessor_config.json").write_text(json.dumps(model.processor), encoding="utf-8")
