"""Accelerators as Kubernetes names them: extended resources, node labels, device classes, instance types."""

import re
from collections.abc import Iterable, Mapping

from interlock.infra.catalog.accelerators import accelerator
from interlock.infra.catalog.gpus import gpu
from interlock.infra.catalog.tables import table
from interlock.infra.facts import Fact, absent, known

_FILE = "accelerators.json"


def vendor_of(names: Iterable[str]) -> str | None:
    """The vendor of the first accelerator among resource names, device classes included."""
    return next((found[0] for name in names if (found := accelerator(name))), None)


def gpu_of(labels: Mapping[str, Fact[str]]) -> Fact[str]:
    """The GPU that node labels (selector or affinity) ask for: a product, an accelerator label or an instance type."""
    for row in table(_FILE)["labels"]:
        for name, fact in labels.items():
            if not re.fullmatch(row["key"], name.lower()):
                continue
            if not fact.known:
                return fact
            product = _product(fact.get(), row["values"])
            # A free label such as accelerator=nvidia says nothing unless the catalog knows the card.
            if product and (row["values"] != "free" or gpu(product)):
                return known(product, fact.path)
    return absent()


def _product(text: str, values: str) -> str | None:
    """The product in a label's value; alternatives joined by commas must agree."""
    found = {_one(word.strip(), values) for word in text.split(",") if word.strip()}
    return found.pop() if len(found) == 1 else None


def _one(word: str, values: str) -> str | None:
    if values != "instance":
        return word.removesuffix("-SHARED") or None
    lowered = word.lower()
    return next((row["gpu"] for row in table(_FILE)["instances"] if re.match(row["pattern"], lowered)), None)


def gpu_family(text: str) -> bool:
    """Whether an instance type or family carries accelerators."""
    lowered = text.lower()
    return any(re.match(row["pattern"], lowered) for row in table(_FILE)["instances"])


def product_fact(fact: Fact[str]) -> Fact[str]:
    """A product label, accelerator label or GPU of an instance type as the catalog's name; as written when it is not in there."""
    return fact.map(product)


def product(text: str) -> str:
    """``nvidia-a100-80gb``, ``NVIDIA-H100-80GB-HBM3``, ``l4`` -> the catalog's name, else the text."""
    found = gpu(text.removesuffix("-SHARED").replace("nvidia-tesla-", "").replace("_", "-"))
    return found.name if found else text
