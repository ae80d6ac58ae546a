"""Stacked shares of the examples by the stage at which they stop, against the mean cost of every policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prunemodels.evaluation.wording import amount, share
from prunemodels.report_page.cascades.facts import CascadeFacts, OnRows
from prunemodels.report_page.chart import Chart, left_end, legend
from prunemodels.report_page.markup import Html, tag
from prunemodels.report_page.tradeoff_charts import cost_label, points_of

PALEST, DARKEST = 0.1, 0.5
"""Opacity of the areas of the first and of the last stage, at which text on them stays readable."""

MOST_SWATCHES = 5
"""With more stages than this, the legend shows only the first and the last."""

Floats = NDArray[np.float64]


def layers_chart(facts: CascadeFacts, seen: OnRows) -> Html | None:
    """The picture with its legend; None where all policies cost the same."""
    order = np.argsort(seen.stops.evaluation.cost, kind="stable")
    cost, by_policy = seen.stops.evaluation.cost[order], seen.stops.by_policy()[order]
    if not cost[-1] > cost[0]:
        return None
    used = np.flatnonzero(by_policy.any(axis=0))
    tops, shades, own = np.cumsum(by_policy, axis=1), np.linspace(PALEST, DARKEST, used.size), facts.tradeoff.chosen[0]
    costs = [*cost.tolist(), own]
    chart = Chart(1.03 * max(costs), 1.0, left=52, x_least=left_end(costs))
    parts: list[object] = [chart.axes(cost_label(facts.labels.unit), "share of the examples that stop", _per_cent)]
    labels: list[object] = []
    for s, shade in zip(used.tolist(), shades.tolist(), strict=True):
        lower, upper = tops[:, s] - by_policy[:, s], tops[:, s]
        hint = tag("title", f"stage {s}")
        parts.append(
            chart.area(points_of(cost, lower), points_of(cost, upper), hint, class_="layer", fill_opacity=f"{shade:.2f}")
        )
        labels.append(_label(chart, s, cost, lower, upper))
    x = f"{chart.x(own):.1f}"
    parts += [*labels, tag("line", x1=x, x2=x, y1=chart.top, y2=chart.height - chart.bottom, class_="budget")]
    first = int(used[0])
    cheapest, dearest = (
        f"{share(by_policy[k, first])} stop at stage {first} at a mean cost of {amount(cost[k])}" for k in (0, -1)
    )
    description = f"By the cheapest policy, {cheapest}; by the dearest, {dearest}. The chosen one costs {amount(own)}."
    svg = chart.svg("Share of the examples that stop at each stage, by policy", description, *parts, id_="layers-chart")
    line = tag("line", x1=14, x2=14, y1=0, y2=16, class_="budget")
    entries = [(line, f"the chosen policy, mean cost {amount(own)}")]
    marked = list(zip(used.tolist(), shades.tolist(), strict=True))
    few = marked if used.size <= MOST_SWATCHES else [marked[0], marked[-1]]
    for s, shade in few:
        swatch = tag("rect", x=2, y=2, width=24, height=12, class_="layer", fill_opacity=f"{shade:.2f}")
        later = "; the stronger the colour, the later" if len(few) < len(marked) and s == used[-1] else ""
        entries.append((swatch, f"stop at stage {s}{later}"))
    return tag("figure", tag("h3", "By every policy"), svg, legend(entries))


def _label(chart: Chart, s: int, cost: Floats, lower: Floats, upper: Floats) -> Html | None:
    """The number of a stage in the widest part of its area; None where there is no room for it."""
    places = np.linspace(cost[0], cost[-1], 101)
    # half the width of a number, in units of cost
    room = (cost[-1] - cost[0]) / max(chart.x(float(cost[-1])) - chart.x(float(cost[0])), 1.0) * 9
    inside = places[(places >= cost[0] + room) & (places <= cost[-1] - room)]
    if not inside.size:
        return None
    around = inside + room * np.linspace(-1, 1, 5)[:, None]
    low, high = np.interp(around, cost, lower).max(axis=0), np.interp(around, cost, upper).min(axis=0)
    k = int((high - low).argmax())
    if chart.y(float(low[k])) - chart.y(float(high[k])) < 14:
        return None
    x, y = chart.x(float(inside[k])), chart.y(float(low[k] + high[k]) / 2) + 4
    return tag("text", str(s), x=f"{x:.1f}", y=f"{y:.1f}", class_="mid")


def _per_cent(value: float) -> str:
    return f"{100 * value:g}\u00a0%"
