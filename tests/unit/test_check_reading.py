"""Reading: places of fields, one problem for each bad text, bounded time for any text."""

import json
from pathlib import Path

import pytest

from interlock.cli.check.sets import file_sets
from interlock.cli.reading import Reading, read_paths
from interlock.cli.reading.marked import compose, locate, read_stream, steps
from interlock.infra.errors import ConfigError
from interlock.infra.recognise import UNKNOWN, Document


def read(tmp_path: Path, text: str | bytes, name: str = "a.yaml") -> Reading:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_paths([str(path)])


def why(reading: Reading) -> str:
    (file,) = reading.files.values()
    return file.why


TEXT = """\
# a comment
apiVersion: v1
kind: Pod
metadata: {name: p}
---
spec:
  containers:
    - name: c
      resources:
        limits:
          nvidia.com/gpu: 2
      args: [--a,
             --b]
  config: |
    applications:
      - name: x
        args: {n: 1}
"""


@pytest.mark.parametrize(
    ("document", "path", "place"),
    [
        (0, "kind", (3, 1)),
        (0, "metadata.name", (4, 12)),
        (1, "spec.containers[0]", (8, 7)),
        (1, 'spec.containers[0].resources.limits["nvidia.com/gpu"]', (11, 11)),
        (1, "spec.containers[0].args[1]", (13, 14)),
        (1, "spec.containers[0].livenessProbe.periodSeconds", (8, 7)),
        (1, "spec.config.applications[0].args.n", (17, 16)),
        (1, "", (6, 1)),
    ],
)
def test_every_path_has_a_line_and_a_column(tmp_path: Path, document: int, path: str, place: tuple[int, int]) -> None:
    (file,) = read(tmp_path, TEXT).files.values()
    assert file.place(document, path) == place


def test_a_text_inside_a_block_is_placed_at_its_own_line(tmp_path: Path) -> None:
    (file,) = read(tmp_path, "args:\n  - |\n    set -e\n    vllm serve m \\\n      --swap-space 4\n").files.values()
    assert file.place(0, "args[0]", "--swap-space") == (5, 5)
    assert file.place(0, "args[0]", "not there") == (2, 5)


def test_a_path_is_read_back_into_its_steps() -> None:
    assert steps('a.b[0]["x.y/z"].c') == ["a", "b", 0, "x.y/z", "c"]


def test_documents_are_numbered_as_yaml_counts_them() -> None:
    assert [(document.index, document.data) for document in read_stream("---\na: 1\n---\n---\nb: 2\n")] == [
        (0, {"a": 1}),
        (1, None),
        (2, {"b": 2}),
    ]
    assert [document.index for document in read_stream("# only a comment\n---\na: 1\n")] == [0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [1\nb: 2\n", "a"),
        ("a:\n\t- b\n", "a tab indents"),
        ("a: b: c\n", "mapping values"),
        ("a: &x [*x]\n", "refers to itself"),
        ("- " * 400 + "x\n", "nested deeper"),
        ('{"a":' * 300 + "1" + "}" * 300, "nested deeper"),
        ("[" * 5000 + "]" * 5000, "nest"),
        ("a: \x01\n", ""),
    ],
)
def test_a_broken_document_is_one_problem_with_its_line(tmp_path: Path, text: str, part: str) -> None:
    (problem,) = read(tmp_path, text).problems
    assert problem.kind == "yaml-invalid"
    assert part in problem.text
    assert "line" in problem.text


def test_a_broken_document_does_not_hide_the_others(tmp_path: Path) -> None:
    reading = read(tmp_path, "kind: A\n---\na: [\n---\nkind: B\n")
    assert [document.data for document in reading.documents] == [{"kind": "A"}, {"kind": "B"}]
    assert [problem.origin.document for problem in reading.problems] == [1]


def test_anchors_that_explode_are_refused_before_they_are_expanded(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (problem,) = read(tmp_path, "\n".join(lines) + "\n").problems
    assert "anchors are expanded" in problem.text


def test_anchors_and_merge_keys_within_reason_are_followed(tmp_path: Path) -> None:
    (document,) = read(tmp_path, "base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\n").documents
    assert document.data["c"] == {"x": 1, "y": 3}


def test_a_key_given_twice_is_a_problem_with_its_path(tmp_path: Path) -> None:
    reading = read(tmp_path, "spec:\n  replicas: 1\n  replicas: 2\n")
    assert [(problem.kind, problem.path) for problem in reading.problems] == [("dup-key", "spec.replicas")]
    assert reading.documents[0].data == {"spec": {"replicas": 2}}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\0\1\2", "binary"),
        (b"a: \xff\xfe\n", "not utf-8 text"),
        (b"a: " + b"x" * (8 * 1024 * 1024) + b"\n", "larger than"),
        (b"", "empty"),
        (b"image: {{ .Values.image }}\n", "template, not judged"),
        (b"a:\n{{- if .x }}\n  b: 1\n{{- end }}\n", "template, not judged"),
        (b"{% for x in y %}\na: 1\n{% endfor %}\n", "template, not judged"),
        (b"image: {{ image }}:{{ tag }}\n", "template, not judged"),
    ],
)
def test_what_cannot_be_judged_says_why(tmp_path: Path, raw: bytes, reason: str) -> None:
    reading = read(tmp_path, raw)
    assert reason in why(reading)
    assert reading.problems == []


@pytest.mark.parametrize("text", ['args: ["--served-model-name={{.Name}}"]\n', "chat: |\n  {{ messages }}\n"])
def test_braces_inside_valid_yaml_are_left_to_the_documents(tmp_path: Path, text: str) -> None:
    assert why(read(tmp_path, text)) == ""


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_other_encodings_with_a_mark_are_read(tmp_path: Path, encoding: str) -> None:
    assert read(tmp_path, "kind: Pod\n".encode(encoding)).documents[0].data == {"kind": "Pod"}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_wide_text_without_a_mark_is_told_as_what_it_is(tmp_path: Path, encoding: str) -> None:
    assert "UTF-16 without its byte order mark" in why(read(tmp_path, "kind: Pod\n".encode(encoding)))


def test_json_as_deep_as_documents_may_be_is_read(tmp_path: Path) -> None:
    reading = read(tmp_path, '{"a":' * 190 + "1" + "}" * 190)
    assert len(reading.documents) == 1
    assert reading.problems == []


def test_foreign_tags_are_unknown_and_times_are_text(tmp_path: Path) -> None:
    (document,) = read(tmp_path, "a: !vault secret\nb: 2026-01-01\nc: 0o7\nd: !!binary aGk=\n").documents
    assert document.data["a"] is UNKNOWN
    assert document.data["b"] == "2026-01-01"


def test_json_is_read_and_its_places_are_found(tmp_path: Path) -> None:
    reading = read(tmp_path, json.dumps({"kind": "Pod", "spec": {"x": 1}}, indent=1), "a.json")
    assert reading.documents[0].data["kind"] == "Pod"
    assert next(iter(reading.files.values())).place(0, "spec.x") == (4, 3)


def test_a_pulumi_preview_is_its_kubernetes_resources(tmp_path: Path) -> None:
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    inputs = {"metadata": {"name": "d"}, "spec": {"replicas": unknown}}
    steps_ = [
        {"op": "create", "newState": {"type": "pulumi:pulumi:Stack"}},
        {"op": "create", "newState": {"type": "kubernetes:apps/v1:Deployment", "inputs": inputs}},
        {"op": "delete", "newState": {"type": "kubernetes:core/v1:Service", "inputs": inputs}},
    ]
    (document,) = read(tmp_path, json.dumps({"steps": steps_}), "preview.json").documents
    assert (document.data["kind"], document.data["apiVersion"], document.path) == ("Deployment", "apps/v1", "steps[1].newState.inputs")


def test_directories_are_walked_and_excluded_files_left_out(tmp_path: Path) -> None:
    for name in ("a.yaml", "b/c.yml", "b/d.json", "b/e.txt", ".git/x.yaml", "node_modules/y.yaml", "skip/z.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"kind": "Pod"}')
    names = [Path(name).relative_to(tmp_path).as_posix() for name in read_paths([str(tmp_path)], ["*/skip/*"]).files]
    assert names == ["a.yaml", "b/c.yml", "b/d.json"]


def test_a_path_that_does_not_exist_is_a_usage_error() -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        read_paths(["/nonexistent/x.yaml"])


def test_a_missing_field_is_placed_at_its_deepest_existing_ancestor() -> None:
    assert locate(compose("a:\n  b: 1\n"), "a.c.d") == (0, 0)


def _document(name: str, file: str) -> Document:
    return Document({"kind": "Deployment", "metadata": {"name": name}}, file)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"k/a.yaml": "x", "k/b.yaml": "y"}, [["k/a.yaml", "k/b.yaml"]]),
        ({"one/a.yaml": "x", "two/a.yaml": "x", "two/b.yaml": "y"}, [["one/a.yaml"], ["two/a.yaml", "two/b.yaml"]]),
        ({"a.yaml": "x", "b.yaml": "x"}, [["a.yaml"], ["b.yaml"]]),
    ],
)
def test_files_that_define_the_same_object_are_no_set(names: dict[str, str], expected: list[list[str]]) -> None:
    documents = [_document(name, file) for file, name in names.items()]
    assert file_sets(documents, list(names)) == expected
