"""Two charts of the trade-off: on held-out examples, and on the samples that pruning was computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from formulations.shown import error_name, is_rate
from prunemodels.evaluation.wording import amount, error
from prunemodels.report_page.chart import Chart, Point, legend, marker
from prunemodels.report_page.facts import Facts
from prunemodels.report_page.markup import Html, join, tag

POINTS = 16
"""Points that are drawn with intervals; the line and its band go through all rows."""

MOST_DOTS = 80
"""With more breakpoints than this, only the line is drawn, without dots."""

CHEAPEST = 0.15
"""Prunings that cost less than this share of the dearest one may lie above the chart."""

LINE = tag("line", x1=1, x2=27, y1=8, y2=8, class_="line")


def spread(cost: NDArray[np.float64], points: int = POINTS) -> list[int]:
    """Rows of the path at evenly spaced costs, the first and the last included."""
    targets = np.linspace(float(cost.max()), float(cost.min()), points)
    return sorted({int(np.abs(cost - target).argmin()) for target in targets} | {0, len(cost) - 1})


def ceiling(cost: NDArray[np.float64], high: NDArray[np.float64], least: float) -> float:
    """The end of the vertical axis: above all prunings but the cheapest, whose large errors would flatten the rest."""
    usual = high[cost >= CHEAPEST * cost.max()]
    return float(min(high.max(), max(1.25 * float(usual.max()), 1.6 * least)))


def half_width(standard_error: NDArray[np.float64], n: int, confidence: float) -> NDArray[np.float64]:
    """Half the width of the interval of each mean over n examples."""
    quantile = float(stats.t.ppf((1 + confidence) / 2, max(1, n - 1)))
    half: NDArray[np.float64] = quantile * np.nan_to_num(standard_error)
    return half


def held_out_chart(facts: Facts) -> Html:
    """The forest's own error on held-out examples along the path, with intervals."""
    along, held_out, task = facts.along_path, facts.held_out, facts.measure
    half = half_width(along.error_se, along.n, held_out.confidence)
    low, high = np.maximum(along.error - half, 0.0), along.error + half
    ends = max(held_out.error_before.high, held_out.error_after.high)
    top = max(ceiling(along.cost, high, ends), ends)
    chart = Chart(1.03 * max(along.unpruned_cost, float(along.cost.max())), 1.05 * top)
    lines = [
        chart.band(points_of(along.cost, low), points_of(along.cost, high)),
        chart.line(points_of(along.cost, along.error), "line"),
    ]
    for k in spread(along.cost):
        x = f"{chart.x(along.cost[k]):.1f}"
        lines.append(tag("line", x1=x, x2=x, y1=f"{chart.y(low[k]):.1f}", y2=f"{chart.y(high[k]):.1f}", class_="whisker"))
        hint = f"cost {amount(along.cost[k])}, {measure(task)} {error(along.error[k], task)} \u00b1 {error(half[k], task)}"
        lines.append(marker("dot", chart.x(along.cost[k]), chart.y(along.error[k]), hint))
    parts = [
        chart.axes(cost_label(facts.labels.unit), f"{measure(task)} of the forest, held out", error_ticks(task)),
        chart.clipped(*lines),
    ]
    for kind, cost, err in (
        ("unpruned", held_out.cost_before, held_out.error_before),
        ("chosen", held_out.cost_after, held_out.error_after),
    ):
        x = f"{chart.x(cost.mean):.1f}"
        parts.append(tag("line", x1=x, x2=x, y1=f"{chart.y(err.low):.1f}", y2=f"{chart.y(err.high):.1f}", class_="ink"))
        hint = f"{kind}: cost {amount(cost.mean)}, {measure(task)} {error(err.mean, task)}"
        parts.append(marker(kind, chart.x(cost.mean), chart.y(err.mean), hint))
    percent = f"{100 * held_out.confidence:g}\u00a0%"
    reach = [f"cost {amount(along.cost[k])} and {measure(task)} {error(along.error[k], task)}" for k in (0, -1)]
    marked = [
        f"{what}: cost {amount(cost.mean)}, {measure(task)} {error(err.mean, task)}"
        for what, cost, err in (
            ("Chosen", held_out.cost_after, held_out.error_after),
            ("Unpruned", held_out.cost_before, held_out.error_before),
        )
    ]
    description = f"Held out, the path goes from {reach[0]} to {reach[1]}. {'. '.join(marked)}."
    svg = chart.svg("Held-out error against held-out cost", description, *parts, id_="held-out-chart")
    entries = [
        (join(LINE, marker("dot", 14, 8)), f"optimal prunings, with {percent} intervals point by point"),
        (marker("unpruned", 14, 8), "the forest before pruning"),
        (marker("chosen", 14, 8), "the chosen pruning"),
    ]
    return tag(
        "figure", tag("h3", "On held-out examples"), svg, legend(entries), _note_above(float(along.error.max()), chart, task)
    )


def sample_chart(facts: Facts) -> Html:
    """The trade-off on the samples: the hull of all prunings, the budget, the optimum of the relaxation, the chosen pruning."""
    path, task, solution = facts.path, facts.measure, facts.solution
    points = {"unpruned": facts.unpruned, "chosen": facts.pruning}
    top = ceiling(path.cost, path.error, max(facts.pruning.error, facts.unpruned.error))
    chart = Chart(1.03 * max(facts.unpruned.cost, float(path.cost[0])), 1.05 * top)
    parts: list[object] = [
        chart.axes(
            cost_label(facts.labels.unit),
            f"trees\u2019 {'mean error rate' if is_rate(task) else measure(task)}, error sample",
            error_ticks(task),
        )
    ]
    if solution is not None:
        r = solution.relaxation
        if not r.is_integral:
            chord = [(r.cheaper.cost, r.cheaper.error), (r.dearer.cost, r.dearer.error)]
            parts.append(chart.clipped(chart.line(chord, "chord")))
        if solution.budget <= chart.x_most:
            x = f"{chart.x(float(solution.budget)):.1f}"
            parts.append(tag("line", x1=x, x2=x, y1=chart.top, y2=chart.height - chart.bottom, class_="budget"))
    lines = [chart.line(points_of(path.cost, path.error), "line")]
    for k in range(len(path)) if len(path) <= MOST_DOTS else []:
        hint = f"lambda {path.lam[k]:.4g}: cost {amount(path.cost[k])}, error {error(path.error[k], task)}"
        lines.append(marker("dot", chart.x(path.cost[k]), chart.y(path.error[k]), hint))
    parts.append(chart.clipped(*lines))
    entries = [(LINE, "optimal prunings, one for every lambda: the lower hull of all prunings")]
    for kind, pruning in points.items():
        hint = f"{kind}: cost {amount(pruning.cost)}, error {error(pruning.error, task)}"
        parts.append(marker(kind, chart.x(pruning.cost), chart.y(pruning.error), hint))
        entries.append((marker(kind, 14, 8), "before pruning" if kind == "unpruned" else "the chosen pruning"))
    description = (
        f"The lower convex hull of all prunings, from cost {amount(path.cost[0])} and error {error(path.error[0], task)} to cost "
        f"{amount(path.cost[-1])} and error {error(path.error[-1], task)}. Chosen: cost {amount(facts.pruning.cost)}, error "
        f"{error(facts.pruning.error, task)}."
    )
    if solution is not None:
        value, cost = float(solution.relaxation.value), min(float(solution.budget), solution.relaxation.dearer.cost)
        parts.append(
            marker("relaxed", chart.x(cost), chart.y(value), f"relaxation: cost {amount(cost)}, error {error(value, task)}")
        )
        line = tag("line", x1=14, x2=14, y1=0, y2=16, class_="budget")
        entries.append((line, f"the budget, {amount(float(solution.budget))}"))
        entries.append((marker("relaxed", 14, 8), f"optimum of the relaxation LP1, {error(value, task)}: no pruning is below"))
        description += f" Budget {amount(float(solution.budget))}; the relaxation's optimum there has error {error(value, task)}."
    svg = chart.svg("Error against cost on the samples that pruning was computed from", description, *parts, id_="sample-chart")
    above = _note_above(float(path.error.max()), chart, task)
    return tag("figure", tag("h3", "On the samples that it was computed from"), svg, legend(entries), above)


def _note_above(most: float, chart: Chart, task: str) -> Html | None:
    """A note on prunings that lie above the chart; None where none does."""
    if most <= chart.y_most:
        return None
    return tag("figcaption", f"The cheapest prunings lie above the chart: they err up to {error(most, task)}.")


def cost_label(unit: str) -> str:
    """The label of the horizontal axis."""
    return "cost per prediction" + (f", {unit}" if 0 < len(unit) <= 20 else "")


def measure(task: str) -> str:
    """The name of the error."""
    return "error rate" if is_rate(task) else error_name(task)


def error_ticks(task: str) -> Any:
    """The function that formats errors along an axis."""
    return (lambda v: f"{100 * v:g}\u00a0%") if is_rate(task) else (lambda v: f"{v:g}")


def points_of(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[Point]:
    """Points with the given coordinates."""
    return list(zip(x.tolist(), y.tolist(), strict=True))
