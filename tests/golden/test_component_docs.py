"""docs/components.md and the package's schema are generated from the components' types, and every example on the page runs."""

from typing import Any

import pytest

from interlock.components.package import COMPONENTS
from tests.support.monitor import run
from tools.component_docs.examples import EXAMPLES, POOL
from tools.component_docs.page import PAGE, SCHEMA, imports, page, schema


def test_the_page_says_what_the_types_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it with `make golden`"


def test_the_schema_of_the_package_is_the_reviewed_one() -> None:
    assert SCHEMA.read_text("utf-8") == schema(), "a change of it changes what other languages see; write it with `make golden`"


def test_every_component_has_an_example() -> None:
    assert list(EXAMPLES) == [each.__name__ for each in COMPONENTS]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_the_page_runs(name: str) -> None:
    namespace = 'namespace = k8s.core.v1.Namespace("assistants")'
    text = "\n".join([imports(), POOL, namespace, EXAMPLES[name]])

    def program() -> None:
        exec(compile(text, name, "exec"), {})

    seen: Any = run(program)
    assert len(seen.components(name)) == 1
    assert seen.objects
