"""GPU names as nodes state them, in the catalog's spelling where one fits."""

from interlock.infra.catalog.gpus import gpu
from interlock.infra.facts import Fact


def product_fact(fact: Fact[str]) -> Fact[str]:
    """A product label, accelerator label or GPU of an instance type as the catalog's name; as written when it is not in there."""
    return fact.map(product)


def product(text: str) -> str:
    """``nvidia-a100-80gb``, ``NVIDIA-H100-80GB-HBM3``, ``l4`` -> the catalog's name, else the text."""
    found = gpu(text.removesuffix("-SHARED").replace("nvidia-tesla-", "").replace("_", "-"))
    return found.name if found else text
