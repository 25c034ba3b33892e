"""Image archives: equal inputs give equal images, and what is in a layer belongs to whom it should."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from interlock.infra.catalog.image_contract import image_contract
from tools.engine_env.make_model import ALPHABET, FAMILIES
from tools.images import archive


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "home" / "vllm").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "etc" / "passwd").write_text("root\n")
    (root / "home" / "vllm" / "file").write_text("mine")
    (root / "proc").mkdir()
    (root / "proc" / "cpuinfo").touch()
    (root / "link").symlink_to("etc")
    return root


def written(tree: Path, path: Path) -> tarfile.TarFile:
    layers = {"root": (archive.Part(tree, "", lambda entry: not entry.startswith("proc/")),)}
    images = (archive.Image("registry.local/a:1", ("root",), {"Entrypoint": ["/a"]}), archive.Image("registry.local/b:1", ("root",), {}))
    archive.write(path, layers, images, {"home/vllm": (2000, 0)})
    return tarfile.open(path)


def test_equal_trees_give_equal_archives(tree: Path, tmp_path: Path) -> None:
    written(tree, tmp_path / "one.tar").close()
    written(tree, tmp_path / "two.tar").close()
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_the_layer_holds_what_was_kept_and_its_owners(tree: Path, tmp_path: Path) -> None:
    with written(tree, tmp_path / "one.tar") as outer:
        member = outer.extractfile("root/layer.tar")
        assert member is not None
        with tarfile.open(fileobj=io.BytesIO(member.read())) as layer:
            owners = {info.name: (info.uid, info.gid) for info in layer}
    assert "proc/cpuinfo" not in owners
    assert owners == {
        "etc": (0, 0),
        "etc/passwd": (0, 0),
        "home": (0, 0),
        "home/vllm": (2000, 0),
        "home/vllm/file": (2000, 0),
        "link": (0, 0),
        "proc": (0, 0),
    }


def test_images_share_a_layer_by_its_digest(tree: Path, tmp_path: Path) -> None:
    with written(tree, tmp_path / "one.tar") as outer:
        manifest = json.loads((outer.extractfile("manifest.json") or io.BytesIO()).read())
        configs = [json.loads((outer.extractfile(entry["Config"]) or io.BytesIO()).read()) for entry in manifest]
    assert [entry["RepoTags"] for entry in manifest] == [["registry.local/a:1"], ["registry.local/b:1"]]
    assert configs[0]["rootfs"] == configs[1]["rootfs"]
    assert configs[0]["config"] == {"Entrypoint": ["/a"]}


def test_the_contract_says_of_every_fact_where_it_was_read() -> None:
    contract = image_contract()
    facts = [value for value in contract.model_dump().values() if isinstance(value, dict)]
    assert len(facts) == 10
    assert all(fact["source"] and fact["proven"] in (True, False) for fact in facts)
    assert contract.user.value.uid == 2000


def test_there_is_a_tiny_model_for_each_way_to_lay_out_a_cache() -> None:
    assert set(FAMILIES) == {"dense", "mla", "sliding", "moe", "pooling"}
    assert len(set(ALPHABET)) == len(ALPHABET)
