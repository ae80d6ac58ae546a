"""The trade-off as a picture: cost against error of a path, of budgets, under two limits; and which features are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.shown import error_name
from prunemodels.evaluation.evaluate import Evaluation
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.evaluation.tradeoffs import BudgetTradeoff, LimitsTradeoff
from prunemodels.plots.picture import (
    BLUE,
    COLOURS,
    DRAWING,
    GREY,
    VERMILION,
    axes_for,
    banded,
    finished,
    frame,
    label_axes,
    literal,
    mark,
    per_cent,
    stepped,
    styled,
)
from prunemodels.statements.wording import amount

DOTTED = (0, (1, 1.5))
"""Dots of the line that is not about new examples."""

HELD_OUT = "error of the forest, held-out examples"

SAMPLES = {"in-bag": "training error of single trees", "out-of-bag": "out-of-bag error of single trees"}
"""What the trees' mean error is, by the source of the nodes' errors."""


@checked
@styled
def plot_tradeoff(
    path: NestedPrunings,
    *,
    held_out: PathEvaluation | Sequence[Evaluation] | None = None,
    chosen: Pruning | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw cost against error: the forest's error on held-out examples in bold, and the trees' error that is minimised, faint.

    Parameters
    ----------
    path
        the breakpoints: the lower convex hull of all prunings, in cost and the trees' mean error on the error sample. That is the
        error of *single trees*, by default on their own training rows. It falls to about 0; the forest's error does not.
    held_out
        cost and error of the forest's own predictions on held-out examples: of the whole path, from `evaluate_path`, with a band
        of 95 % intervals, point by point, or of some prunings and the unpruned forest, from `evaluate`. Without it the picture
        says nothing about new examples.
    chosen
        a pruning to mark: its cost on the cost sample is a line. A circle is at its held-out error, if `held_out` is of the whole
        path and it is a row of it; without `held_out` at the trees' error.
    unit
        the unit of the prices, for the axis: "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Raises
    ------
    InvalidInputError
        if `held_out` is empty, and if `held_out` or `chosen` is of another problem than the path.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> figure = pm.plots.plot_tradeoff(path, chosen=path.at_lam(0.01))
    """
    ax = axes_for(ax, (6.8, 4.8))
    if chosen is not None:
        check_same_problem("chosen", chosen.problem, path.problem)
    trees = trees_error(path.problem)
    if held_out is None:
        marker = "." if len(path) <= DRAWING.most_markers else ""
        name = f"{trees} (held-out error not given)"
        ax.plot(path.cost, path.error, color=GREY, lw=1.4, marker=marker, ms=6, label=name, **stepped(path.cost))
    else:
        ax.plot(path.cost, path.error, color=GREY, lw=1.0, ls=DOTTED, label=trees, **stepped(path.cost))
        if isinstance(held_out, PathEvaluation):
            check_same_problem("held_out", held_out.path.problem, path.problem)
            line = held_out.cost, held_out.error, held_out.error_ends()
            banded(ax, *line, label=HELD_OUT, band="95 % intervals, point by point", **stepped(held_out.cost))
            mark(ax, "unpruned", held_out.unpruned_cost, held_out.unpruned_error, "unpruned forest, held-out examples")
        elif not len(held_out):
            raise InvalidInputError("held_out is empty; give at least one Evaluation, or None")
        else:
            points = sorted(held_out, key=lambda e: e.cost)
            cost, error = [e.cost for e in points], [e.error for e in points]
            ax.plot(cost, error, color=BLUE, lw=2.4, marker="o", ms=5, label=HELD_OUT, **stepped(cost))
    if chosen is not None:
        _mark(ax, path, held_out, chosen)
    label_axes(ax, path.problem.ensemble.measure, unit)
    return finished(ax)


def _mark(ax: Axes, path: NestedPrunings, held_out: PathEvaluation | Sequence[Evaluation] | None, chosen: Pruning) -> None:
    """The chosen pruning's cost as a line, with a circle at its held-out error, or at that of the trees if no other is given."""
    name = f"chosen pruning, cost {chosen.cost:.4g}"
    point = (chosen.cost, chosen.error) if held_out is None else None
    if isinstance(held_out, PathEvaluation):
        # row k keeps the nodes of rows_kept > k: it is the chosen pruning if that parts kept nodes from all others
        row = int(path.rows_kept[~chosen.kept].max(initial=0))
        if row < int(path.rows_kept[chosen.kept].min(initial=len(path))):
            point = float(held_out.cost[row]), float(held_out.error[row])
    ax.axvline(chosen.cost, color=VERMILION, lw=1, ls="--", zorder=1.5, label=name if point is None else None)
    if point is not None:
        mark(ax, "chosen", *point, name)


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
    ax = axes_for(ax, (6.8, 4.8))
    changes = tradeoff.changes
    first = changes[0]
    cost = np.array([first.cost_before.mean, *(c.cost_after.mean for c in changes)])
    base = first.error_before.mean
    error = np.array([base, *(c.error_after.mean for c in changes)])
    ends = base + np.array([(0.0, 0.0), *((c.increase.low, c.increase.high) for c in changes)])
    order = np.argsort(cost)
    if path is not None:
        look: dict[str, Any] = {"color": GREY, "lw": 1.0, "ls": DOTTED, "label": trees_error(path.problem), "zorder": 1}
        ax.plot(path.cost, path.error, **look, **stepped(path.cost))
    band, name = f"{100 * first.confidence:g} % interval of the change", f"error on {first.n:,} held-out examples, within budgets"
    more: dict[str, Any] = {"marker": "o", "ms": 5, "zorder": 3, **stepped(cost[order])}
    banded(ax, cost[order], error[order], ends[order].T, label=name, band=band, **more)
    mark(ax, "unpruned", cost[0], error[0], "unpruned")
    for k, pruning in enumerate(tradeoff.prunings, start=1):
        if pruning is chosen:
            mark(ax, "chosen", cost[k], error[k], "chosen")
    if budget is not None:
        ax.axvline(budget, color=VERMILION, lw=1.0, ls="--", zorder=2, label=f"budget {budget:g}")
    label_axes(ax, first.measure, unit)
    ax.set_ylabel(error_name(first.measure))
    return finished(ax)


@checked
@styled
def plot_limits(tradeoff: LimitsTradeoff, *, unit: str = "", ax: Axes | None = None) -> Figure:
    """Draw the trees' error over the budget, a line for each of the other limits, and faintly what is proven to be the least.

    Parameters
    ----------
    tradeoff
        of `prunemodels.evaluation.limits_tradeoff`.
    unit
        of the prices, such as "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> at = [pm.Limit(10, "splits"), pm.Limit(30, "splits")]
    >>> figure = pm.plots.plot_limits(pm.evaluation.limits_tradeoff(problem, [6, 9, 12], at))
    """
    ax = axes_for(ax, (6.8, 4.4))
    problem = tradeoff.solutions[0][0].problem
    for k, (limit, line) in enumerate(zip(tradeoff.at, tradeoff.solutions, strict=True)):
        color, name = COLOURS[k % len(COLOURS)], f"{limit.title} at most {amount(float(exact(limit.at_most, 'at')))}"
        style: Any = {"color": color, "lw": 1.8, "marker": ".", "label": literal(name), **stepped(tradeoff.budgets)}
        ax.plot(tradeoff.budgets, [found.error for found in line], **style)
        ax.plot(tradeoff.budgets, [found.bound for found in line], color=color, lw=0.9, ls=":")
    label_axes(ax, problem.ensemble.measure, unit, whole=False)
    ax.set_ylabel(trees_error(problem))
    ax.set_ylim(bottom=0)
    return finished(ax)


def trees_error(problem: PruningProblem) -> str:
    """What the trees' mean error is, in words: on training rows if they are the error sample."""
    source = problem.errors.source
    return SAMPLES.get(source, f"error of single trees, error sample: {literal(source)}")


def check_same_problem(name: str, given: PruningProblem, wanted: PruningProblem, of: str = "path") -> None:
    """Refuse what belongs to another problem: its cost and error would be measured on other prices or examples."""
    if given is not wanted:
        raise InvalidInputError(f"{name} is of another problem than {of}; give one of {of}.problem")


BEFORE = "0.8"
"""Grey of the unpruned forest."""

COLUMNS = ("price", "before", "after")


@checked
@styled
def plot_purchases(purchases: pd.DataFrame, *, most: Count = 30, unit: str = "", ax: Axes | None = None) -> Figure:
    """Draw which share of the examples asks for each feature, before and after pruning, with the prices.

    Parameters
    ----------
    purchases
        from `PrunedForest.purchases`: a row for each feature, with its price and the two shares.
    most
        most features to draw: those on which the unpruned forest spends most.
    unit
        of the prices, such as "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Raises
    ------
    InvalidInputError
        for a table without those columns, or without a row.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
    >>> figure = result.plot_purchases()
    """
    missing = [c for c in COLUMNS if c not in purchases.columns]
    if missing or purchases.empty:
        wrong = f"lacks the column {missing[0]!r}" if missing else "has no row"
        raise InvalidInputError(f"purchases {wrong}; give what PrunedForest.purchases() returns")
    table = purchases.iloc[:most]
    ax = axes_for(ax, (6.8, max(2.4, 1.1 + 0.27 * len(table))))
    place = np.arange(len(table))
    ax.barh(place, table["before"], height=0.8, color=BEFORE, label="unpruned")
    ax.barh(place, table["after"], height=0.44, color=BLUE, label="pruned")
    names = [f"{literal(str(name))}  ({price:g})" for name, price in zip(table.index, table["price"], strict=True)]
    frame(ax)
    ax.grid(visible=False, axis="y")
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    per_cent(ax.xaxis)
    left_out = len(purchases) - len(table)
    more = f"; {left_out} features on which less is spent are not shown" if left_out else ""
    ax.set_xlabel(f"examples that ask for the feature{more}")
    ax.set_ylabel(f"feature (price alone{f', {literal(unit)}' if unit else ''})")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return finished(ax)
