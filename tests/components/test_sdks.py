"""SDKs for other languages, by the generators of Pulumi's own CLI; skipped where they are not built (python -m tools.build --for sdks)."""

import re
import subprocess

import pytest

from interlock.components.package import COMPONENTS
from tools import build, toolchain_families
from tools.component_docs.page import SCHEMA


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All sources of an SDK as one text, by language."""
    wanted = toolchain_families.select([], ["sdks"])
    if any(decision.must_build for decision in build.decide(wanted)):
        pytest.skip("not built: pulumi-sdk (python -m tools.build --for sdks)")
    program, made = build.ensure(wanted) / "pulumi-sdk", {}
    for language in ("nodejs", "go"):
        folder = tmp_path_factory.mktemp(language)
        with SCHEMA.open("rb") as schema:
            done = subprocess.run([program, language, folder], stdin=schema, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "the schema raises doubts"
        made[language] = "\n".join(path.read_text("utf-8") for path in folder.rglob("*") if path.suffix in (".ts", ".go"))
    return made


def test_typescript_has_a_class_for_every_component_and_every_argument_of_the_engine(sdk: dict[str, str]) -> None:
    classes = re.findall(r"^export class (\w+) extends pulumi.ComponentResource", sdk["nodejs"], re.MULTILINE)
    assert set(classes) == {each.__name__ for each in COMPONENTS}
    assert "    enableChunkedPrefill?: boolean;" in sdk["nodejs"]


def test_every_type_that_go_names_is_there(sdk: dict[str, str]) -> None:
    assert {each.__name__ for each in COMPONENTS} <= set(re.findall(r"^func New(\w+)\(", sdk["go"], re.MULTILINE))
    named = set(re.findall(r"\b(\w+SettingsArgs)\b", sdk["go"]))
    assert "BackendSettingsArgs" in named
    assert named == set(re.findall(r"^type (\w+SettingsArgs) struct", sdk["go"], re.MULTILINE))
