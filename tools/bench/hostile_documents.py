"""Makes hostile documents: examples broken in their values, in their structure or in their text, and bombs of all kinds."""

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

import yaml

from tools.findings.examples import examples

DEEP = 300
"""Levels of nesting: beyond what Python's own parsers follow."""
LONG = 200_000
"""Characters of a long text."""

Steps = tuple[str | int, ...]


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


ODD: tuple[Callable[[random.Random], Any], ...] = (
    lambda _: None,
    lambda _: [],
    lambda _: {},
    lambda _: "",
    lambda _: True,
    lambda chance: chance.choice([0, -1, 1, 2**31, 2**63, 10**30, -(10**30)]),
    lambda chance: chance.choice([float("nan"), float("inf"), -0.0, 1e308, 1.5]),
    lambda chance: chance.choice(["9" * 400, "1e999Gi", "-1Gi", "0x10", "1_000", "50%", "-5%", "1e400%", "Infinity", "nan", "1.31072e+05"]),
    lambda chance: chance.choice(["{{ .Values.x }}", "${X:-${Y}}", "$(VAR)", "{{", "}}", "$" * 500, "{% if x %}", "[secret]"]),
    lambda chance: chance.choice(["\0", "\ud7ff", "\u202e", "é" * 100, "\x1b[31m", "\n" * 1000, "\t", " " * 1000, "a\rb"]),
    lambda chance: chance.choice("a/:@.-_=, ") * chance.choice([100, 5000]),
    lambda _: [None] * 50,
    lambda _: [[[[]]]],
    lambda _: {None: 1, 5: [], True: {}},
    lambda chance: _nested(chance.choice([10, 60, DEEP // 4])),
    lambda chance: ["--" + "x" * chance.choice([1, 500])] * chance.choice([1, 200]),
    lambda chance: chance.choice(
        ['{"a": ' * 200, "[" * 500, '{"model": "x"}', '{"kv_connector": {"a": 1}}', "'", '"', "\\", "`", "$(", "((("]
    ),
    lambda _: "exec vllm serve a " + "; ".join(f"for i in $(seq 1 {10**9}); do echo $i; done" for _ in range(20)),
    lambda _: "vllm serve " + "$(echo " * 300 + ")" * 300,
    lambda _: "a=" + "b" * 3000 + "; while true; do vllm serve x; done; case $a in *) ;; esac <<EOF\n" + "x\n" * 500,
)
"""Values that stand where another one was."""


@cache
def _sources() -> tuple[tuple[Any, ...], ...]:
    found = []
    for each in examples().values():
        if each.form == "manifest" and each.code not in ("DOC-001", "DOC-003"):
            found.append(tuple(document for document in yaml.safe_load_all(each.bad) if document))
    return tuple(found)


def _places(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    if steps:
        yield steps
    if isinstance(value, dict | list) and len(steps) < 40:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(inner, (*steps, key))


def _put(document: Any, steps: Steps, value: Any) -> None:
    inner = document
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value


def _mutated(chance: random.Random) -> list[Any]:
    """One to three examples with some of their values replaced, exchanged or repeated."""
    chosen = [document for _ in range(chance.randint(1, 2)) for document in chance.choice(_sources())]
    documents: list[Any] = json.loads(json.dumps(chosen, default=str))
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        document = chance.choice(documents)
        places = list(islice(_places(document), 3000))
        if not places:
            continue
        place = chance.choice(places)
        kind = chance.random()
        if kind < 0.8:
            _put(document, place, chance.choice(ODD)(chance))
        elif kind < 0.9:
            _put(document, place, copy.deepcopy(chance.choice(_sources())[0]))
        else:
            # An alias of each in the text, not a copy.
            _put(document, place, [copy.deepcopy(document.get("spec"))] * chance.choice([2, 40]))
    return documents


def _values(chance: random.Random) -> str:
    documents = _mutated(chance)
    try:
        return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=chance.random() < 0.5)
    except (yaml.YAMLError, RecursionError):
        return json.dumps(documents, default=str)


def _cut(chance: random.Random) -> str:
    """A text that ends in the middle, or has parts of it twice, exchanged or replaced by noise."""
    text = _values(chance)
    at, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
    noise = "".join(chance.choice("\t :-{}[]&*!|>%@`'\"#,?~\n\0é") for _ in range(chance.randint(1, 40)))
    return chance.choice([text[:at], text[:at] + noise + text[at:], text[:at] + text[end:], text + text[at:end], text[at:end]])


def _bomb(chance: random.Random) -> str:
    """Aliases that grow by powers, circles, depth, length, number."""
    levels = chance.randint(2, 12)
    laughs = "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(levels))
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
    container = "spec: {template: {spec: {containers: [{name: a, image: 'vllm/vllm-openai:v0.33.0', args: "
    return chance.choice(
        [
            head + laughs + f"spec: {{template: {{spec: {{containers: *a{levels}}}}}}}\n",
            head + "spec: &a {template: {spec: {containers: [*a]}}}\n",
            head + "spec: " + "{a: " * DEEP + "1" + "}" * DEEP + "\n",
            head + "spec: " + "[" * DEEP + "]" * DEEP + "\n",
            head + container + json.dumps(["--x"] * 5000) + "}]}}}\n",
            head + container + json.dumps(["serve", "x" * LONG]) + "}]}}}\n",
            "---\n" * 3000 + head,
            head + "base: &b {a: 1}\nspec: {<<: [*b, *b], <<: *b}\n",
            head + "spec: !!python/object/apply:os.system ['true']\n",
            head + "spec: !!binary aGFsbG8=\nwhen: 2026-13-45\nset: !!set {a, b}\nomap: !!omap [a: 1]\n",
            head + "? [a, b]\n: 1\n? {c: d}\n: 2\n1: 2\nnull: 3\ntrue: 4\n",
            "\ufeff" + head.replace("\n", "\r\n"),
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "List", "items": []}] * 500}),
            json.dumps(_nested(DEEP // 2)),
            "%YAML 9.9\n---\n" + head,
            _embedded(laughs),
            _embedded("applications: " + "[" * DEEP + "]" * DEEP),
            _embedded("applications: [{args: &a {llm_configs: [*a]}}]"),
        ]
    )


def _embedded(text: str) -> str:
    """A RayService whose Serve config is the text."""
    cluster = {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "h", "image": "rayproject/ray-llm:2.60.0"}]}}}}
    spec = {"serveConfigV2": text, "rayClusterConfig": cluster}
    return yaml.safe_dump({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "a"}, "spec": spec})


def _bytes(chance: random.Random) -> bytes:
    """Bytes that are no UTF-8."""
    text = bytearray(_values(chance).encode("utf-8", "surrogatepass"))
    for _ in range(chance.randint(1, 20)):
        text[chance.randrange(len(text) + 1) : 0] = bytes([chance.randrange(256)])
    return bytes(text)


KINDS: Mapping[str, tuple[float, Callable[[random.Random], str | bytes]]] = {
    "values": (0.62, _values),
    "text": (0.2, _cut),
    "bomb": (0.12, _bomb),
    "bytes": (0.06, _bytes),
}
"""Kind -> (share, what makes one)."""


def hostile(seed: int) -> tuple[str, bytes]:
    """The hostile document of a number: (its kind, its bytes)."""
    chance = random.Random(seed)
    kind = chance.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
    made = KINDS[kind][1](chance)
    return kind, made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")
