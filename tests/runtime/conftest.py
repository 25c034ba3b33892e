"""The packed archive, and a container around an engine that pretends to be vLLM."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.infra.facts.supervisor import ARCHIVE
from interlock.infra.manifests import archive as packer
from tools.runtime.testing import Container, pretend


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zipapp, as pods get it."""
    path = tmp_path_factory.mktemp("archive") / ARCHIVE
    path.write_bytes(packer.archive())
    return path


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image has, in a folder."""
    return pretend(tmp_path_factory.mktemp("image"))


@pytest.fixture
def container(archive: Path, image: Path, tmp_path: Path) -> Iterator[Container]:
    """Not started yet; ended after the test, whatever happened."""
    made = Container(archive, image, tmp_path)
    yield made
    made.remove()
