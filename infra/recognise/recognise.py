"""From documents to one bundle of facts: a table of forms by kind."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from interlock.infra.facts import Bundle, NotJudged, Workload
from interlock.infra.recognise.context import Context, Parse, gather
from interlock.infra.recognise.document import Document, Node
from interlock.infra.recognise.native import read_native

Form = Callable[[Node, Document, Context], Iterator[Any]]


def recognise(documents: Sequence[Document], *, closed: bool = False, parse: Parse = json.loads) -> Bundle:
    """The facts of ``documents``. Never raises on any data; ``parse`` reads texts that hold YAML (JSON alone without it).

    ``closed``: the documents are the whole deployment, so what is absent is really absent.
    """
    whole = tuple(_flat(documents))
    context = gather(whole, parse)
    bundle = Bundle(closed=closed)
    for document in whole:
        items = tuple(_read(document, context))
        bundle = replace(
            bundle,
            workloads=(*bundle.workloads, *(item for item in items if isinstance(item, Workload))),
            not_judged=(*bundle.not_judged, *(item for item in items if isinstance(item, NotJudged))),
        )
    return bundle


def _flat(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        root = Node(document.data, document.path)
        if root["kind"].string().endswith("List") and root["items"].is_list:
            for item in root["items"].items():
                yield replace(document, data=item.value, path=item.path)
        elif root.mapping:
            yield document


def _read(document: Document, context: Context) -> Iterator[Any]:
    root = Node(document.data, document.path)
    yield from read_native(root, document, context)
