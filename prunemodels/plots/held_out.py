"""The trade-off that users pay: cost and error on held-out examples, budget by budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.shown import error_name, is_rate
from prunemodels.evaluation.held_out_tradeoff import BudgetTradeoff
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    axes_for,
    cost_label,
    figure_of,
    frame,
    legend_above,
    per_cent,
    styled,
)
from prunemodels.plots.tradeoff import DOTTED, trees_error


@checked
@styled
def plot_held_out(
    tradeoff: BudgetTradeoff,
    *,
    path: NestedPrunings | None = None,
    chosen: Pruning | None = None,
    budget: float | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw the held-out error against the held-out cost of several budgets, with the unpruned forest.

    Parameters
    ----------
    tradeoff
        from `PrunedForest.tradeoff` or `budget_tradeoff`. The band is the interval of the error's change from the unpruned
        forest, which errs on the same examples, so it is narrower than the intervals of the errors themselves.
    path
        the path of the prunings, to draw the error of single trees on the error sample too, faintly.
    chosen
        one of the prunings, to mark.
    budget
        drawn as a vertical line.
    unit
        of the prices, such as "dollars"; for the axis.
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, path, y_test
    >>> found = pm.evaluation.budget_tradeoff(path, forest, X_test, y_test, budgets=[6, 12], time_limit=2)
    >>> figure = pm.plots.plot_held_out(found)
    """
    own, ax = ax is None, axes_for(ax, (6.8, 4.8))
    changes = tradeoff.changes
    first = changes[0]
    cost = np.array([first.cost_before.mean, *(c.cost_after.mean for c in changes)])
    base = first.error_before.mean
    error = np.array([base, *(c.error_after.mean for c in changes)])
    low = base + np.array([0.0, *(c.increase.low for c in changes)])
    high = base + np.array([0.0, *(c.increase.high for c in changes)])
    order = np.argsort(cost)
    if path is not None:
        ax.plot(path.cost, path.error, color=GREY, lw=1.0, ls=DOTTED, label=trees_error(path.problem), zorder=1)
    name = f"{100 * first.confidence:g} % interval of the change"
    ax.fill_between(cost[order], np.maximum(low, 0)[order], high[order], color=BLUE, alpha=0.15, lw=0, label=name, zorder=1)
    name = f"error on {first.n:,} held-out examples, within budgets"
    ax.plot(cost[order], error[order], color=BLUE, lw=2.4, marker="o", ms=5, label=name, zorder=3)
    ax.plot(cost[0], error[0], color=BLACK, ls="", marker="D", ms=7, label="unpruned", zorder=4, clip_on=False)
    where = [k for k, p in enumerate(tradeoff.prunings, start=1) if p is chosen]
    if where:
        ring: dict[str, Any] = {"mfc": "none", "mec": VERMILION, "mew": 2.0, "label": "chosen"}
        ax.plot(cost[where[0]], error[where[0]], ls="", marker="o", ms=13, zorder=5, clip_on=False, **ring)
    if budget is not None:
        ax.axvline(budget, color=VERMILION, lw=1.0, ls="--", zorder=2, label=f"budget {budget:g}")
    ax.set_xlabel(cost_label(unit))
    ax.set_ylabel(error_name(first.measure))
    if is_rate(first.measure):
        per_cent(ax.yaxis)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    frame(ax)
    legend_above(ax, own=own)
    return figure_of(ax)
