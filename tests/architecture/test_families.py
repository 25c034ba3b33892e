"""A family is a row: its name is turned into values and named strategies in one module, and every row can be read."""

import ast
import json
from dataclasses import fields
from pathlib import Path

import pytest

from interlock.infra.catalog.tables import table
from interlock.infra.sizing.model.families import Family, Traits, family, traits
from interlock.infra.sizing.model.layer_plan import LAYERS
from interlock.infra.sizing.terms.live_tensors import Style
from interlock.infra.sizing.weights.towers import TOWERS

ROOT = Path(__file__).resolve().parents[2]
SIZING = sorted(path for path in (ROOT / "infra" / "sizing").rglob("*.py") if path.name != "families.py")
TABLE = table("families.json")
ROWS = {"default": TABLE["default"], **TABLE["lines"], **TABLE["families"]}
LONGEST_LINE = 400
# One relation of flags or fields per line, with its message: read whole.
RELATIONS = ("vllm_relations.json", "field_relations.json")
DATA = [path for path in sorted((ROOT / "infra" / "catalog").glob("*.json")) if path.name not in RELATIONS]
# What a strategy of the table may be called.
CHOICES = {
    "known": {"", "compared", "read"},
    "layers": set(LAYERS),
    "layer_types": {"read", "full", "other"},
    "slides": {"stated", "asked", "never"},
    "unknown_mixer": {"full", "mlp"},
    "caches": {"", "speech"},
    "kv_heads": {"", "falcon"},
    "mrope": {"", "always", "unless pruned"},
    "context": {"", "behind padding", "trained", "stated"},
    "tensors": {"decoder", "encoder", "encoder-modern", "encoder-rotary", "speech"},
    "projections": {"", "shared-query"},
    "experts": {"", "padded"},
    "recurrent": {"", "interleaved"},
    "predictor": {"apart", "joined", "first", "borrowed"},
    "attention": {"", "gated", "float32", "float32 queries"},
}
TYPES = {"model_type", "outer_type"}


def names_a_type(node: ast.AST) -> bool:
    """``facts.model_type``, ``model_type`` or ``text(config, "model_type")`` of a model (a tower's own type has its own config)."""
    if isinstance(node, ast.Attribute):
        return node.attr in TYPES
    if isinstance(node, ast.Name):
        return node.id in TYPES
    return isinstance(node, ast.Call) and any(isinstance(a, ast.Constant) and a.value == "model_type" for a in node.args)


def branches(tree: ast.AST) -> list[int]:
    """Lines that compare a model's type with a literal."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and names_a_type(node.left):
            literal = [part for right in node.comparators for part in ast.walk(right) if isinstance(part, ast.Constant) and part.value]
            found += [node.lineno] if literal else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith"):
            found += [node.lineno] if names_a_type(node.func.value) else []
    return found


@pytest.mark.parametrize("path", SIZING, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_module_of_families_decides_by_a_models_type(path: Path) -> None:
    allowed = {"towers.py": 2}.get(path.name, 0)  # the type of a tower inside its own config
    assert len(branches(ast.parse(path.read_text("utf-8")))) <= allowed


def test_a_row_has_only_fields_that_something_reads_and_strategies_that_exist() -> None:
    read = {field.name for kind in (Family, Traits, Style) for field in fields(kind)} | {"serves", "before"}
    assert set(TABLE["default"]) == read - {"before"}
    for name, row in ROWS.items():
        assert set(row) <= read, name
        assert all(row.get(field, default) in CHOICES[field] for field, default in TABLE["default"].items() if field in CHOICES), name
    assert {row.get("tower", "") for row in TABLE["towers"]} <= set(TOWERS)


def inherited(name: str) -> dict[str, object]:
    """What a row would be without its own fields."""
    lines = sorted((line for line in TABLE["lines"] if line != name and name.startswith(line[:-1])), key=len)
    return {**TABLE["default"], **{field: value for line in lines for field, value in TABLE["lines"][line].items()}}


@pytest.mark.parametrize("name", sorted({*ROWS} - {"default"}))
def test_a_row_can_be_read_and_repeats_nothing_that_it_inherits(name: str) -> None:
    assert isinstance(family(name.removesuffix("*")), Family)
    assert isinstance(traits(name.removesuffix("*"), {}), Traits)
    assert [field for field, value in ROWS[name].items() if inherited(name).get(field) == value] == []


def test_an_unknown_member_of_a_line_is_built_like_the_line_and_stays_unknown() -> None:
    assert family("gemma3_next").rotary_tables == 2
    assert family("gemma3_next").tied
    assert family("gemma3_next").known == ""


def test_an_unknown_family_is_a_usual_decoder() -> None:
    assert family("never_heard_of") == family("llama_of_tomorrow")


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.name)
def test_a_data_file_can_be_reviewed_line_by_line(path: Path) -> None:
    text = path.read_text("utf-8")
    json.loads(text)
    assert max(map(len, text.splitlines())) <= LONGEST_LINE
