"""Predicted against logged KV memory, with intervals."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from tools.accuracy.cases import Scored

mpl.use("svg")


def plot(cases: Sequence[Scored], path: Path) -> None:
    """Write the figure as SVG (the same bytes for the same data)."""
    from matplotlib import pyplot

    mpl.rcParams["svg.hashsalt"] = "interlock"
    figure, axes = pyplot.subplots(figsize=(7, 5))
    for group, colour in (("logs", "#1f77b4"), ("h200", "#d62728")):
        points = [_point(case) for case in cases if case.group == group]
        known = [point for point in points if point]
        axes.errorbar(
            [p[0] for p in known],
            [p[2] for p in known],
            yerr=[[p[2] - p[1] for p in known], [p[3] - p[2] for p in known]],
            fmt="o",
            markersize=3,
            linewidth=0.7,
            color=colour,
            label={"logs": "public logs", "h200": "H200 runs"}[group],
        )
    axes.plot([0.05, 150], [0.05, 150], color="black", linewidth=0.6)
    axes.set(xscale="log", yscale="log", xlabel="KV memory logged (GiB)", ylabel="KV memory predicted (GiB)", title="KV memory of one GPU")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _point(case: Scored) -> tuple[float, float, float, float] | None:
    truth, estimate = case.log.get("kv_available_gib"), case.answer.get("kv_available_gib")
    if not truth or truth <= 0 or not isinstance(estimate, dict) or estimate["likely"] <= 0 or not case.named or case.disturbed:
        return None
    return float(truth), max(float(estimate["low"]), 0.01), float(estimate["likely"]), float(estimate["high"])
