"""Controllers of Ingresses and Gateways: which one a class speaks of, where it runs, and how it is told a timeout."""

import re
from collections.abc import Mapping

from interlock.infra.catalog.tables import table

_FILE = "routes.json"


def controller_name(text: str) -> str:
    """The controller that a class name speaks of (``my-nginx-public`` -> nginx), else the name itself."""
    lowered = text.lower()
    return next((row["controller"] for row in table(_FILE)["classes"] if re.search(row["pattern"], lowered)), text)


def controller_namespace(ingress_class: str) -> str:
    """Namespace in which the controller of a class is installed by its own documentation; empty where none is known or it runs outside."""
    rows = table(_FILE)["classes"]
    return next((str(row.get("namespace", "")) for row in rows if re.search(row["pattern"], ingress_class.lower())), "")


def timeout_annotations(controller: str, seconds: int) -> Mapping[str, str]:
    """The annotations by which an Ingress tells ``controller`` how long an answer may take; empty for one that reads none."""
    rows = [row for row in table(_FILE)["timeouts"] if row["controller"] == controller and "write" in row]
    return {row["annotation"]: row["write"].format(seconds=seconds, milliseconds=1000 * seconds) for row in rows}
