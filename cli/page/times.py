"""Time lines: from a new pod to a ready one, and of one step of a rollout."""

from dataclasses import dataclass

from interlock.cli.page.markup import Html, percent, tag
from interlock.cli.show import span
from interlock.infra.plan.replacing import step_seconds, way
from interlock.infra.plan.types import PlannedServer
from interlock.infra.sizing import Estimate
from interlock.infra.sizing.start import StartTime, Step

_SHORT = {
    Step.PROVISION: "node",
    Step.IMAGE: "image",
    Step.NODES: "pods meet",
    Step.PROCESS: "processes",
    Step.JOIN: "ranks join",
    Step.READ: "read weights",
    Step.WEIGHTS: "lay out",
    Step.PROFILE: "profile",
    Step.COMPILE: "compile",
    Step.GRAPHS: "graphs",
}
_TELLS = 0.11


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of a line: from when, how long, what."""

    start: float
    seconds: float
    kind: str
    told: str
    title: str = ""


def start_lines(server: PlannedServer) -> Html:
    """Cold and warm start on one scale, with the probe's limit."""
    cold, warm = server.start.cold, server.start.warm
    # The probe counts from the container's start; at the high end that is after all that comes before.
    limit = cold.before.likely + server.times.startup
    whole = max(cold.total.likely, limit) * 1.04
    lines = [_line("cold", _steps(cold), whole, limit), _line("warm", _steps(warm), whole, None)]
    likely = ", ".join(f"{name} {span(each.likely)} ({span(each.low)} to {span(each.high)})" for name, each in _totals(server))
    told = (
        f"from a new pod to a ready one: {likely}; the red line: the startup probe gives up, {span(server.times.startup)} of the container"
    )
    return tag("div", lines, _legend(cold), tag("p", told, class_="quiet"), class_="times")


def _totals(server: PlannedServer) -> tuple[tuple[str, Estimate], ...]:
    return ("cold", server.start.cold.total), ("warm", server.start.warm.total)


def _legend(start: StartTime) -> Html:
    told = (
        tag("li", tag("span", class_=f"swatch step-{step.name}"), f"{_SHORT[step.name]} {span(step.seconds.likely)}")
        for step in start.steps
    )
    return tag("ul", told, class_="legend")


def _steps(start: StartTime) -> list[_Part]:
    parts, passed = [], 0.0
    for step in start.steps:
        parts.append(_Part(passed, step.seconds.likely, f"step-{step.name}", _SHORT[step.name]))
        passed += step.seconds.likely
    return parts


def rollout_lines(server: PlannedServer) -> Html:
    """One step of a rollout: the old pod drains, the new one starts, in the order of the strategy."""
    times, start = server.times, server.start.cold.total.likely
    surge = server.surge > 0
    begins, stops = (0.0, start) if surge else (float(times.grace), 0.0)
    old = [
        _Part(0.0, stops, "serves", "serves"),
        _Part(stops, times.deregistration, "leaves", "leaves", f"leaves the endpoints: {times.deregistration} s"),
        _Part(stops + times.deregistration, times.engine_shutdown, "drains", "finishes answers", f"at most {times.engine_shutdown} s"),
    ]
    new = [_Part(begins, start, "starts", "starts")]
    whole = step_seconds(server) * 1.02
    new.append(_Part(begins + start, whole - begins - start, "serves", "serves"))
    told = f"{way(server)}, each up to {span(whole)} at the likely start; Pulumi waits {span(times.update_timeout)} at most"
    return tag(
        "div", _line("old pod", old, whole, None), _line("new pod", new, whole, None), tag("p", told, class_="quiet"), class_="times"
    )


def _line(name: str, parts: list[_Part], whole: float, limit: float | None) -> Html:
    drawn = [_part(each, whole) for each in parts if each.seconds > 0]
    if limit is not None:
        drawn.append(tag("div", class_="limit", style=f"left:{percent(limit, whole)}", title=f"the startup probe gives up: {span(limit)}"))
    return tag("div", tag("span", name, class_="name"), tag("div", drawn, class_="track"), class_="line")


def _part(part: _Part, whole: float) -> Html:
    place = f"left:{percent(part.start, whole)};width:{percent(part.seconds, whole)}"
    name = part.told if part.seconds / whole > _TELLS else ""
    return tag("div", name, class_=f"stretch {part.kind}", style=place, title=part.title or name or None)
