"""The shape of the house: what may import what, how big things may be, what must be documented."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("infra", "components", "stacks", "cli", "policies", "runtime", "tools")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "toolchain" not in path.parts)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def python(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)


BLOCKED = ("pulumi", "pulumi_kubernetes", "pulumi_policy", "kubernetes", "yaml", "rich", "httpx")


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_stays_under_300_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) < 300


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_function_stays_under_40_lines_and_a_component_constructor_under_60(path: Path) -> None:
    too_long = []
    for function in functions(parsed(path)):
        limit = 60 if function.name == "__init__" and path in COMPONENTS else 40
        length = (function.end_lineno or 0) - function.lineno + 1
        if length >= limit:
            too_long.append(f"{function.name}: {length} lines")
    assert not too_long


def test_the_import_contracts_hold() -> None:
    done = python("from importlinter.cli import lint_imports_command as run; run()")
    assert done.returncode == 0, done.stdout + done.stderr


def test_infra_and_runtime_import_with_pulumi_made_unimportable() -> None:
    modules = [
        "interlock." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if path.relative_to(ROOT).parts[0] in ("infra", "runtime") and name(path) != "runtime/beat.py"  # it is loaded by vLLM alone
    ]
    blocked = "".join(f"sys.modules[{each!r}] = None\n" for each in BLOCKED)
    script = "import sys\n" + blocked + "import importlib\n" + "\n".join(f"importlib.import_module({module!r})" for module in modules)
    done = python(script)
    assert done.returncode == 0, done.stderr


def test_the_command_plans_without_pulumi() -> None:
    start = "import sys\nsys.modules['pulumi'] = None\nsys.argv = ['interlock', 'plan', '--stack', 'dev']\n"
    script = start + "from interlock.cli.main import main\nmain()"
    done = python(script)
    assert done.returncode == 0, done.stderr
    assert "chat" in done.stdout


UNNEEDED = ("pydantic", "rich", "pulumi", "interlock.infra.config", "interlock.infra.plan", "interlock.infra.manifests")
"""What no judgement of YAML and no sizing needs, and what half of such a short command would wait for."""


@pytest.mark.parametrize(
    "words", [["check", "examples/foreign-yaml"], ["size", "-m", "Qwen/Qwen3-8B", "-g", "H100", "--json"]], ids=" ".join
)
def test_a_check_and_a_sizing_import_neither_pydantic_nor_the_rooms_of_a_stack(words: list[str]) -> None:
    blocked = "".join(f"sys.modules[{each!r}] = None\n" for each in UNNEEDED)
    done = python(f"import sys\n{blocked}from interlock.cli.main import main\nmain({words!r})")
    assert done.returncode in (0, 1), done.stderr
    assert not done.stderr
    assert len(done.stdout) > 100


INFRA = [path for path in MODULES if path.relative_to(ROOT).parts[0] == "infra"]
OPENERS = {"infra/catalog/tables.py", "infra/manifests/archive.py"}
"""The opener of the catalog's data, and the one that ships the text of a runtime program."""


def _opened(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            yield from names & {"importlib", "importlib.resources", "pkgutil", "pathlib"}
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in ("open", "read_text", "read_bytes"):
            yield ast.unparse(node.func)


def test_data_files_are_opened_in_one_place() -> None:
    assert {name(path) for path in INFRA if set(_opened(parsed(path)))} == OPENERS


def test_every_data_file_of_the_catalog_is_read_by_someone() -> None:
    texts = "".join(path.read_text("utf-8") for path in INFRA)
    files = {path.name for path in (ROOT / "infra/catalog").glob("*.json")}
    assert {each for each in files if f'"{each}"' not in texts} == {
        "vllm_flags.json",
        "vllm_metrics.json",
        "vllm_env.json",
        "vllm_values.json",
        "vllm_members.json",
    }


@pytest.mark.parametrize("path", INFRA, ids=name)
def test_every_field_of_a_pydantic_model_has_a_docstring(path: Path) -> None:
    bare = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ClassDef) and _is_model(node):
            bare += [f"{node.name}.{field}" for field in _undocumented(node)]
    assert not bare


def _is_model(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id in ("BaseModel", "Config", "Planned", "Output") for base in node.bases)


def _undocumented(node: ast.ClassDef) -> Iterator[str]:
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        documented = (
            isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) and isinstance(following.value.value, str)
        )
        if statement.target.id != "model_config" and "ClassVar" not in ast.dump(statement.annotation) and not documented:
            yield statement.target.id


COMPONENTS = [path for path in MODULES if path.relative_to(ROOT).parts[0] == "components"]


@pytest.mark.parametrize("path", COMPONENTS, ids=name)
def test_a_component_reads_no_config_and_no_environment_and_uses_no_annotation_that_the_schema_analyser_cannot_read(path: Path) -> None:
    text = path.read_text("utf-8")
    for banned in ("from __future__ import annotations", "pulumi.Config", "os.environ", "Literal[", "Annotated[", "k8s.Provider("):
        assert banned not in text, banned


def test_only_the_settings_read_the_stack_configuration() -> None:
    readers = [name(path) for path in MODULES if "pulumi.Config(" in path.read_text("utf-8")]
    assert readers in (["stacks/settings.py"], ["policies/pack.py", "stacks/settings.py"])


def test_the_program_is_six_lines() -> None:
    lines = [line for line in (ROOT / "__main__.py").read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) <= 6


def test_a_rule_stands_in_a_module_of_its_prefix() -> None:
    from interlock.infra.rules.judge import MODULES, RULES

    assert [rule.code for rule in RULES if not rule.module.startswith(rule.code.partition("-")[0].lower() + "_")] == []
    prefixed = {path.stem for path in (ROOT / "infra" / "rules").glob("*_*.py")} - {"__init__"}
    assert {module.__name__.rpartition(".")[2] for module in MODULES} == prefixed
    assert prefixed == {rule.module for rule in RULES}


def test_every_group_of_a_bundle_knows_where_its_objects_were_read() -> None:
    import dataclasses
    import typing

    from interlock.infra.facts import Bundle

    given = {field.name for field in dataclasses.fields(Bundle) if field.init} - {"closed"}
    groups = {name: typing.get_args(hint)[0] for name, hint in typing.get_type_hints(Bundle).items() if name in given}
    assert [name for name, item in groups.items() if "origin" not in {field.name for field in dataclasses.fields(item)}] == []
