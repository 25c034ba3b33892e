"""What watches: alert and recording rules, dashboards, adapter rules, scrapes."""

import re
from collections.abc import Iterator
from itertools import islice

from interlock.infra.facts import Fact, Query, Scrape, known, unknown
from interlock.infra.recognise.context import Context
from interlock.infra.recognise.document import Document, Node, origin

_LONGEST = 2_000_000
_MANY = 2000
# Texts without any of these watch something else.
_OF_ENGINES = ("vllm", "ray", "gpu")


def read_rules(root: Node, document: Document, context: Context) -> Iterator[Query]:
    """A PrometheusRule (or VMRule)."""
    for expression, use in _rule_groups(root["spec"]["groups"]):
        yield Query(origin(root, document), expression.text(raw=True), expression.path, use)


def _rule_groups(groups: Node) -> Iterator[tuple[Node, str]]:
    for group in groups.items():
        for rule in group["rules"].items():
            if rule["expr"]:
                yield rule["expr"], "alert" if rule["alert"] else "record"


def read_texts(root: Node, document: Document, context: Context) -> Iterator[Query]:
    """Rule files, adapter rules and dashboards that a ConfigMap carries as text."""
    for _, node in root["data"].fields():
        yield from _embedded(node, root, document, context)


def read_dashboard(root: Node, document: Document, context: Context) -> Iterator[Query]:
    """A GrafanaDashboard object."""
    yield from _embedded(root["spec"]["json"], root, document, context)


def _embedded(node: Node, root: Node, document: Document, context: Context) -> Iterator[Query]:
    text = node.string()
    if not 20 < len(text) < _LONGEST or not any(word in text for word in _OF_ENGINES):
        return
    if not ('"expr"' in text or "expr:" in text or "seriesQuery" in text):
        return
    loaded = context.load(node)
    source = origin(root, document)
    for expression, use in _rule_groups(loaded["groups"]):
        yield Query(source, expression.text(raw=True), expression.path, use)
    for rule in [*loaded["rules"].items(), *loaded["rules"]["custom"].items(), *loaded["rules"]["external"].items()]:
        if rule["seriesQuery"]:
            yield Query(source, rule["seriesQuery"].text(raw=True), rule["seriesQuery"].path, "adapter", _exported(rule))
    for expression in islice(_panel_expressions(loaded, 0), _MANY):
        yield Query(source, expression.text(raw=True), expression.path, "dashboard")


_PLAIN_SERIES = re.compile(r"\s*([A-Za-z_:][\w:]*)\s*(?:\{.*\})?\s*", re.DOTALL)
_NAMED_SERIES = re.compile(r"\{\s*__name__\s*=\s*[\"']([\w:]+)[\"'].*\}", re.DOTALL)


def _exported(rule: Node) -> Fact[str]:
    """The name under which an adapter rule exports its series (prometheus-adapter docs/config.md, Naming)."""
    query, name = rule["seriesQuery"], rule["name"]
    series = _PLAIN_SERIES.fullmatch(query.string()) or _NAMED_SERIES.fullmatch(query.string())
    matches, given = name["matches"].string(), name["as"].string()
    if series is None:
        # Series chosen by a pattern: a name that is stated without parts of theirs is still the one name.
        return known(given, name["as"].path) if given and "$" not in given else unknown(query.path, "series chosen by a pattern")
    try:
        found = re.search(matches or ".*", series[1])
        if found is None:
            return unknown(name.path, "the rule matches no series")
        wanted = given or ("$1" if found.groups() else "$0")
        return known(re.sub(r"\$\{?(\d)\}?", lambda part: found[int(part[1])] or "", wanted), query.path)
    except (re.error, IndexError):
        return unknown(name.path, "a pattern that cannot be read here")


def _panel_expressions(node: Node, depth: int) -> Iterator[Node]:
    if depth > 6:
        return
    for panel in node["panels"].items():
        for target in panel["targets"].items():
            if target["expr"]:
                yield target["expr"]
        yield from _panel_expressions(panel, depth + 1)


def read_monitor(root: Node, document: Document, context: Context) -> Iterator[Scrape]:
    """A ServiceMonitor, PodMonitor or PodMonitoring."""
    kind = "service" if root["kind"].string() == "ServiceMonitor" else "pod"
    spec = root["spec"]
    selector = tuple(sorted(spec.at("selector", "matchLabels").texts().items()))
    for endpoint in [*spec["endpoints"].items(), *spec["podMetricsEndpoints"].items()]:
        port = endpoint.first("port", "targetPort", "portNumber")
        named = bool(endpoint["port"]) and root["kind"].string() in ("ServiceMonitor", "PodMonitor")
        yield Scrape(origin(root, document), kind, selector, port.text(), named, endpoint["path"].text(), endpoint.path)


def read_annotated(metadata: Node, root: Node, document: Document, kind: str) -> Iterator[Scrape]:
    """The ``prometheus.io/*`` annotations of a Service or a pod template."""
    annotations = metadata["annotations"]
    if annotations["prometheus.io/scrape"].string().lower() == "true" and annotations["prometheus.io/port"]:
        selector = tuple(sorted(metadata["labels"].texts().items()))
        port = annotations["prometheus.io/port"]
        path = annotations["prometheus.io/path"].text()
        yield Scrape(origin(root, document), kind, selector, port.text(), metrics_path=path, path=port.path)
